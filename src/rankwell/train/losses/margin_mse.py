"""MarginMSE: documents as far apart as another model, the teacher, put them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from rankwell.train.losses.loss import Loss
from rankwell.train.losses.margin import pairs_of


@dataclass(frozen=True)
class MarginMSE(Loss):
    """Pairwise, over all pairs of a query's documents with different labels, which are a teacher's scores.

    mean over i, j with y_i > y_j of ((x_i - x_j) - (y_i - y_j))^2

    Hofstätter et al., "Improving efficient neural ranking models with cross-architecture knowledge distillation", 2020.
    """

    name = "margin-mse"

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean over all pairs of the batch."""
        better, worse = pairs_of(logits, labels, sizes)
        if not len(better):
            return logits.sum() * 0
        wanted = torch.sub(*pairs_of(labels, labels, sizes))
        return mse_loss(better - worse, wanted)
