"""A transformer that gives one vector per text. Imports torch: import it late."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rankwell.models.base.torch_model import SavesWeights


def _mean(hidden: Tensor, mask: Tensor) -> Tensor:
    weights = mask[:, :, None].to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)


def _largest(hidden: Tensor, mask: Tensor) -> Tensor:
    return hidden.masked_fill(mask[:, :, None] == 0, -torch.inf).max(dim=1).values


# The names and meanings of `rankwell.models.base.encoders`.
POOLINGS: dict[str, Any] = {"cls": lambda hidden, _: hidden[:, 0], "max": _largest, "mean": _mean}


class TextVectors(SavesWeights, nn.Module):
    """A body with pooling: one vector per text."""

    def __init__(self, body: Any, pooling: str) -> None:
        super().__init__()
        self.body, self.pooling = body, pooling

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """A row for each text, not normalised."""
        hidden = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        vectors: Tensor = POOLINGS[self.pooling](hidden, attention_mask)
        return vectors
