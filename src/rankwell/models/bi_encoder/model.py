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
    """A body with pooling: one vector per text. `upper`: the body's layers above those whose outputs are kept."""

    def __init__(self, body: Any, pooling: str, upper: Any = None) -> None:
        super().__init__()
        self.body, self.pooling = body, pooling
        self._upper = (upper,)  # no module of its own: its weights are the body's

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, hidden: Tensor | None = None
    ) -> Tensor:
        """A row for each text, not normalised; from its tokens, or from the kept outputs of the lower layers."""
        if hidden is None:
            hidden = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        else:
            hidden = self._upper[0](inputs_embeds=hidden, attention_mask=attention_mask).last_hidden_state
        vectors: Tensor = POOLINGS[self.pooling](hidden, attention_mask)
        return vectors
