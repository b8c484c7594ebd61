"""Losses for ranking: pointwise, pairwise and listwise. Imports torch: import it late."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, margin_ranking_loss, mse_loss

from rankwell.core import ParameterError


@dataclass(frozen=True)
class Loss(ABC):
    """A loss from logits. `lists`: whether it needs the documents of a query together."""

    name: ClassVar[str]
    lists: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean loss of a batch; `sizes` are the numbers of consecutive logits of each query."""


class Given:
    """Precomputed logits in place of the cross-encoder that the losses of sentence-transformers call.

    These losses tokenise texts and run a model; ours has run before, on tokens truncated as in search. They get
    positions instead of texts, and look the logits up by them.
    """

    num_labels = 1

    def __init__(self, logits: Tensor, sizes: list[int]) -> None:
        self.logits, self.device = logits, logits.device
        ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
        self.places = [list(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]

    @property
    def queries(self) -> list[Any]:
        """Placeholders for the queries' texts."""
        return list(range(len(self.places)))

    def preprocess(self, pairs: list[Any], **_: Any) -> dict[str, Tensor]:
        """The positions in place of tokens."""
        return {"places": torch.tensor([place for _, place in pairs])}

    def __call__(self, tokens: dict[str, Tensor]) -> dict[str, Tensor]:
        """The precomputed logits at these positions."""
        return {"scores": self.logits[tokens["places"]]}


class OfLibrary(Loss):
    """A loss of sentence-transformers over lists, on logits that are there already."""

    library: ClassVar[str]

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean loss over the pairs or the queries of the batch."""
        from sentence_transformers.cross_encoder import losses

        given: Any = Given(logits, sizes)
        computed = getattr(losses, self.library)(given, mini_batch_size=-1)
        loss: Tensor = computed([given.queries, given.places], list(torch.split(labels, sizes)))
        return loss


class BinaryCrossEntropy(Loss):
    """Pointwise: each pair alone.

    - mean of y log s(x) + (1 - y) log(1 - s(x)), with s the sigmoid and labels y from 0 to 1

    Nogueira and Cho, "Passage re-ranking with BERT", 2019.
    """

    name = "bce"
    lists = False

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:  # noqa: ARG002 -- no lists here
        """The mean loss over all pairs."""
        return binary_cross_entropy_with_logits(logits, labels)


class Lambda(OfLibrary):
    """Listwise: RankNet's pairs with the weights of NDCG-Loss2++.

    mean over i, j with y_i > y_j of w_ij log2(1 + exp(-(x_i - x_j))), where w_ij is the change of nDCG if the two were
    exchanged (LambdaRank), plus 10 times a bound of it that is tighter

    Wang et al., "The LambdaLoss framework for ranking metric optimization", CIKM 2018; as sentence-transformers has it.
    """

    name = "lambda"
    library = "LambdaLoss"


class ListNet(OfLibrary):
    """Listwise: the cross-entropy between two softmaxes over a query's documents.

    mean over queries of - sum_i softmax(y)_i log softmax(x)_i

    Cao et al., "Learning to rank: from pairwise approach to listwise approach", ICML 2007; as sentence-transformers has
    it.
    """

    name = "listnet"
    library = "ListNetLoss"


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
        """The mean loss over all pairs of the batch."""
        better, worse = pairs_of(logits, labels, sizes)
        if not len(better):
            return logits.sum() * 0
        return margin_ranking_loss(better, worse, torch.ones_like(better), margin=self.margin)


def pairs_of(logits: Tensor, labels: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor]:
    """The logits of the better and of the worse document, for all pairs with different labels within a query."""
    better, worse = [], []
    for scores, wanted in zip(torch.split(logits, sizes), torch.split(labels, sizes), strict=True):
        first, second = torch.nonzero(wanted[:, None] > wanted[None, :], as_tuple=True)
        better.append(scores[first])
        worse.append(scores[second])
    return torch.cat(better), torch.cat(worse)


class MarginMSE(Loss):
    """Pairwise, over all pairs of a query's documents with different labels, which are a teacher's scores.

    mean over i, j with y_i > y_j of ((x_i - x_j) - (y_i - y_j))^2

    Hofstätter et al., "Improving efficient neural ranking models with cross-architecture knowledge distillation", 2020.
    """

    name = "margin-mse"

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean loss over all pairs of the batch."""
        better, worse = pairs_of(logits, labels, sizes)
        if not len(better):
            return logits.sum() * 0
        wanted = torch.sub(*pairs_of(labels, labels, sizes))
        return mse_loss(better - worse, wanted)


class RankNet(OfLibrary):
    """Pairwise, over all pairs of a query's documents with different labels.

    mean over i, j with y_i > y_j of log2(1 + exp(-(x_i - x_j)))

    Burges et al., "Learning to rank using gradient descent", ICML 2005; as sentence-transformers has it.
    """

    name = "ranknet"
    library = "RankNetLoss"


class Softmax(Loss):
    """Listwise: each relevant document against all documents of its query.

    mean over queries of - sum_i (y_i / sum_j y_j) log softmax(x)_i

    ListNet with the labels themselves in the place of their softmax, which for labels of 0 and 1 asks for nearly equal
    shares. Gao, Dai and Callan call it localized contrastive estimation ("Rethink training of
    BERT rerankers in multi-stage retrieval pipeline", ECIR 2021). A query without a label above 0 counts nothing.
    """

    name = "softmax"

    def __call__(self, logits: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """The mean loss over the queries of the batch with a relevant document."""
        losses = []
        for scores, wanted in zip(torch.split(logits, sizes), torch.split(labels, sizes), strict=True):
            if wanted.sum() > 0:
                losses.append(-(wanted / wanted.sum() * scores.log_softmax(dim=0)).sum())
        return torch.stack(losses).mean() if losses else logits.sum() * 0


LOSSES: dict[str, Loss] = {
    loss.name: loss for loss in (BinaryCrossEntropy(), RankNet(), Margin(), MarginMSE(), ListNet(), Softmax(), Lambda())
}


def loss_named(name: str) -> Loss:
    """The loss of that name; raises for unknown names."""
    if name not in LOSSES:
        raise ParameterError("loss", expected=f"one of {', '.join(LOSSES)}", found=name)
    return LOSSES[name]
