"""MarginMSE on the teacher's scores: a query's documents as far apart as the teacher puts them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from rankwell.train.distil_losses.compared import Compared, DistilLoss
from rankwell.train.losses.margin_mse import MarginMSE


@dataclass(frozen=True)
class TeacherMargin(DistilLoss):
    """Pairwise, over all pairs of a list's documents: `rankwell.train.losses.MarginMSE` with scores as labels.

    mean over i, j with t_i > t_j of ((x_i - x_j) - (t_i - t_j))^2

    Hofstätter et al., "Improving efficient neural ranking models with cross-architecture knowledge distillation", 2020.
    """

    name = "margin"
    lists = True
    scores = True

    def __call__(self, compared: Compared) -> Tensor:
        """The mean over all pairs of the batch."""
        return MarginMSE()(compared.logits, compared.scores, list(compared.sizes))
