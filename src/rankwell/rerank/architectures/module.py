"""Any of the four architectures in PyTorch: encoders side by side, and a head over their [CLS]. Loads torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import save_file
from torch import nn
from transformers.modeling_outputs import SequenceClassifierOutput

SHARED = "encoder"  # the name of the one encoder that all inputs share
WEIGHTS = "model.safetensors"


class ArchitectureModule(nn.Module):
    """Reads every input of an example with its encoder, and gives one logit.

    `encoders` by the names of `inputs`, or one of them by the name "encoder" for all. What happens to the shapes is
    told in `interaction`, `representation`, `dual_interaction` and `triple_representation`.
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
            longest = max(1, int(attention_mask[:, place].sum(dim=1).max()))  # what is behind that is padding
            part = slice(None), place, slice(longest)
            vectors.append(self._first_row(name, input_ids[part], attention_mask[part], token_type_ids[part]))
        return SequenceClassifierOutput(logits=self.head(torch.cat(vectors, dim=1)))

    def train(self, mode: bool = True) -> Self:
        """As everywhere; but a frozen encoder keeps its dropout off, so that its vectors are always the same."""
        super().train(mode)
        for encoder in self.encoders.values():
            encoder.train(mode and any(weights.requires_grad for weights in encoder.parameters()))
        return self

    def encoder(self, name: str) -> Any:
        """The encoder that reads an input."""
        return self.encoders[name if name in self.encoders else SHARED]

    def save_pretrained(self, folder: str | Path, state_dict: Mapping[str, Any] | None = None) -> None:
        """All weights as one file, which is what a checkpoint has."""
        weights = self.state_dict() if state_dict is None else state_dict
        Path(folder).mkdir(parents=True, exist_ok=True)
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, Path(folder) / WEIGHTS)

    def _first_row(self, name: str, ids: Any, mask: Any, types: Any) -> Any:
        encoder = self.encoder(name)
        given = {"input_ids": ids, "attention_mask": mask}
        if int(getattr(encoder.config, "type_vocab_size", 0) or 0) > 1:
            given["token_type_ids"] = types
        return encoder(**given).last_hidden_state[:, 0]
