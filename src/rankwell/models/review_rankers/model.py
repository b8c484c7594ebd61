"""The review rankers in PyTorch: encoders, and a head over their concatenated [CLS] vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import nn
from transformers.modeling_outputs import SequenceClassifierOutput

from rankwell.core import ParameterError
from rankwell.models.base.torch_model import SavesWeights
from rankwell.models.review_rankers.graph import SHARED

QUARTER_LESS = 0.75


def head(width: int, *, frozen: bool, dropout: float, ratio: float = QUARTER_LESS) -> nn.Sequential:
    """The head over concatenated vectors of `width` numbers.

    Where BERT is trained, dropout and one linear layer: [batch, width] -> [batch, 1]. Where all of BERT is frozen,
    three linear layers with ReLU and dropout between them, each of `ratio` as many units as the one before:
    [batch, width] -> [batch, ratio width] -> [batch, ratio^2 width] -> [batch, 1]. The systematic-review study says
    that sizes are "reduced by one-quarter"; who reads that as "to a quarter" sets the ratio to 0.25.

    The study ends in a softmax over this one number, which is always 1; here its sigmoid is the probability.
    """
    if not 0 < ratio <= 1:
        raise ParameterError("head_ratio", expected="a share above 0, up to 1", found=ratio)
    if not frozen:
        return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, 1))
    second = max(1, round(width * ratio))
    third = max(1, round(second * ratio))
    return nn.Sequential(
        nn.Linear(width, second),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(second, third),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(third, 1),
    )


class ArchitectureModule(SavesWeights, nn.Module):
    """Reads every input of an example with its encoder, and gives one logit.

    `encoders` has the names of `inputs` as keys, or one encoder for all under "encoder". For the shapes see
    `rankwell.models.review_rankers.architectures`.
    """

    def __init__(self, encoders: Mapping[str, Any], inputs: Sequence[str], head: nn.Module) -> None:
        super().__init__()
        self.encoders = nn.ModuleDict(encoders)
        self.inputs = tuple(inputs)
        self.head = head

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> SequenceClassifierOutput:
        """All three are [batch, inputs, tokens]; the result's `logits` are [batch, 1]."""
        vectors = []
        for place, name in enumerate(self.inputs):
            longest = max(1, int(attention_mask[:, place].sum(dim=1).max()))  # the rest is padding
            part = slice(None), place, slice(longest)
            vectors.append(self._first_row(name, input_ids[part], attention_mask[part], token_type_ids[part]))
        return SequenceClassifierOutput(logits=self.head(torch.cat(vectors, dim=1)))

    def train(self, mode: bool = True) -> Self:
        """Set the mode; a frozen encoder keeps its dropout off, so that its vectors stay the same."""
        super().train(mode)
        for encoder in self.encoders.values():
            encoder.train(mode and any(weights.requires_grad for weights in encoder.parameters()))
        return self

    def encoder(self, name: str) -> Any:
        """The encoder that reads an input."""
        return self.encoders[name if name in self.encoders else SHARED]

    def _first_row(self, name: str, ids: Any, mask: Any, types: Any) -> Any:
        encoder = self.encoder(name)
        given = {"input_ids": ids, "attention_mask": mask}
        if int(getattr(encoder.config, "type_vocab_size", 0) or 0) > 1:
            given["token_type_ids"] = types
        return encoder(**given).last_hidden_state[:, 0]
