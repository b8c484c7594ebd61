"""Cosine loss: the direction of the last layer's states."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import cosine_similarity

from rankwell.train.distil_losses.compared import Compared, DistilLoss


@dataclass(frozen=True)
class Cosine(DistilLoss):
    """1 less the cosine of the last hidden states of both models, the mean over tokens that are no padding.

    Sanh et al., "DistilBERT, a distilled version of BERT: smaller, faster, cheaper and lighter", 2019.
    """

    name = "cosine"
    inside = True

    def __call__(self, compared: Compared) -> Tensor:
        """The mean over all tokens."""
        student, teacher = compared.states()
        cosines = cosine_similarity(compared.widen(student.hidden[-1]), teacher.hidden[-1], dim=-1)
        return (1 - cosines)[compared.mask.bool()].mean()
