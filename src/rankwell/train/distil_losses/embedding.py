"""Embedding loss: what goes into the first layer."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from rankwell.train.distil_losses.compared import Compared, DistilLoss, token_mean


@dataclass(frozen=True)
class Embedding(DistilLoss):
    """The mean squared difference of the embedding layers' output: MSE(E W, E^T), as of hidden states.

    Jiao et al., "TinyBERT: distilling BERT for natural language understanding", 2020.
    """

    name = "embedding"
    inside = True

    def __call__(self, compared: Compared) -> Tensor:
        """The mean over tokens (no padding) and dimensions."""
        student, teacher = compared.states()
        return token_mean((compared.widen(student.hidden[0]) - teacher.hidden[0]).square(), compared.mask)
