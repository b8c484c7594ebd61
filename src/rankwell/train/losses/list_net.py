"""ListNet: the documents of a query as a distribution, compared with the one that the labels give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from rankwell.train.losses.loss import Given, Loss, by_query


@dataclass(frozen=True)
class ListNet(Loss):
    """Listwise: the cross-entropy between two softmaxes over a query's documents.

    mean over queries of - sum_i softmax(y)_i log softmax(x)_i

    Cao et al., "Learning to rank: from pairwise approach to listwise approach", ICML 2007; as sentence-transformers has
    it.
    """

    name = "listnet"

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean over the queries of the batch."""
        from sentence_transformers.cross_encoder.losses import ListNetLoss

        given: Any = Given(logits, sizes)
        loss: Tensor = ListNetLoss(given, mini_batch_size=-1)([given.queries, given.places], by_query(labels, sizes))
        return loss
