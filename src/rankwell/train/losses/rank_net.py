"""RankNet: whether of two documents of a query the better one is above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from rankwell.train.losses.loss import Given, Loss, by_query


@dataclass(frozen=True)
class RankNet(Loss):
    """Pairwise, over all pairs of a query's documents with different labels.

    mean over i, j with y_i > y_j of log2(1 + exp(-(x_i - x_j)))

    Burges et al., "Learning to rank using gradient descent", ICML 2005; as sentence-transformers has it.
    """

    name = "ranknet"

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean over all pairs of the batch."""
        from sentence_transformers.cross_encoder.losses import RankNetLoss

        given: Any = Given(logits, sizes)
        loss: Tensor = RankNetLoss(given, mini_batch_size=-1)([given.queries, given.places], by_query(labels, sizes))
        return loss
