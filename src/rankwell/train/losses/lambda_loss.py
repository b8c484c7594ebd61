"""LambdaLoss: pairs of documents, weighed by how much their order matters to nDCG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from rankwell.train.losses.loss import Given, Loss, by_query


@dataclass(frozen=True)
class Lambda(Loss):
    """Listwise: RankNet's pairs with the weights of NDCG-Loss2++.

    mean over i, j with y_i > y_j of w_ij log2(1 + exp(-(x_i - x_j))), where w_ij is the change of nDCG if the two were
    exchanged (LambdaRank), plus 10 times a bound of it that is tighter

    Wang et al., "The LambdaLoss framework for ranking metric optimization", CIKM 2018; as sentence-transformers has it.
    """

    name = "lambda"

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean over all pairs of the batch."""
        from sentence_transformers.cross_encoder.losses import LambdaLoss

        given: Any = Given(logits, sizes)
        loss: Tensor = LambdaLoss(given, mini_batch_size=-1)([given.queries, given.places], by_query(labels, sizes))
        return loss
