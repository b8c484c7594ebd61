"""Margin: the better document at least so far above the other."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import margin_ranking_loss

from rankwell.train.losses.loss import Loss, by_query


@dataclass(frozen=True)
class Margin(Loss):
    """Pairwise hinge, over all pairs of a query's documents with different labels.

    mean over i, j with y_i > y_j of max(0, margin - (x_i - x_j))

    Herbrich, Graepel and Obermayer, "Large margin rank boundaries for ordinal regression", 2000; torch's
    `margin_ranking_loss`.
    """

    name = "margin"
    margin: float = 1.0

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean over all pairs of the batch."""
        better, worse = pairs_of(logits, labels, sizes)
        if not len(better):
            return logits.sum() * 0
        return margin_ranking_loss(better, worse, torch.ones_like(better), margin=self.margin)


def pairs_of(logits: Tensor, labels: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor]:
    """The logits of the better and of the worse document, for all pairs with different labels within a query."""
    better, worse = [], []
    for scores, wanted in zip(by_query(logits, sizes), by_query(labels, sizes), strict=True):
        first, second = torch.nonzero(wanted[:, None] > wanted[None, :], as_tuple=True)
        better.append(scores[first])
        worse.append(scores[second])
    return torch.cat(better), torch.cat(worse)
