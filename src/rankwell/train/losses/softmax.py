"""Softmax: the share of a query's probability that its relevant documents get."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rankwell.train.losses.loss import Loss, by_query


@dataclass(frozen=True)
class Softmax(Loss):
    """Listwise: each relevant document against all documents of its query.

    mean over queries of - sum_i (y_i / sum_j y_j) log softmax(x)_i

    ListNet with the labels themselves in the place of their softmax, which for labels of 0 and 1 asks for nearly equal
    shares. Gao, Dai and Callan call it localized contrastive estimation ("Rethink training of
    BERT rerankers in multi-stage retrieval pipeline", ECIR 2021). A query without a label above 0 counts nothing.
    """

    name = "softmax"

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean over the queries of the batch that have a relevant document."""
        losses = []
        for scores, wanted in zip(by_query(logits, sizes), by_query(labels, sizes), strict=True):
            if wanted.sum() > 0:
                losses.append(-(wanted / wanted.sum() * scores.log_softmax(dim=0)).sum())
        return torch.stack(losses).mean() if losses else logits.sum() * 0
