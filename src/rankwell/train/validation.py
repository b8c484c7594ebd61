"""How well a cross-encoder ranks the documents of queries that it is not trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rankwell.core import Judgments, RankwellError
from rankwell.core.arrays import Floats
from rankwell.evaluate import evaluate, parse_measure
from rankwell.train.pair_measures import judgments_of, ranking_of
from rankwell.train.pair_tokens import PairBatches

MEASURES = ("nDCG@10", "RR@10", "AP", "AUC")
OVER_ALL = "AUC"  # compares all pairs with one another, not only those of a query
BATCH_TOKENS = 8192  # in one batch, padding included


class LabelledPairs(Protocol):
    """What a ranking is measured with."""

    @property
    def labels(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """How relevant each pair's document is."""

    @property
    def query_ids(self) -> Sequence[str]:
        """Whose ranking it belongs to."""

    @property
    def document_ids(self) -> Sequence[str]:
        """What is ranked."""


def measures_to_take(decisive: str) -> tuple[str, ...]:
    """The measure that decides, then the usual ones, by their full names."""
    return tuple(dict.fromkeys(str(parse_measure(name)) for name in (decisive, *MEASURES)))


@dataclass(frozen=True)
class RankingValidation:
    """Scores validation pairs with a model, and measures the ranking and the loss."""

    batches: PairBatches
    measures: Sequence[str]
    loss: Any  # a `rankwell.train.losses.Loss`

    def __call__(self, model: Any) -> Mapping[str, float]:
        """The loss and every measure that has a value."""
        pairs = self.batches.pairs
        scores = scores_of(model, self.batches)
        found = {"loss": self._loss(scores), **ranking_measures(pairs, scores, self.measures)}
        return {name: value for name, value in found.items() if math.isfinite(value)}

    def _loss(self, scores: Floats) -> float:
        import torch

        pairs = self.batches.pairs
        order = np.argsort(pairs.groups, kind="stable")
        sizes = np.unique(pairs.groups, return_counts=True)[1].tolist()
        logits, labels = (torch.from_numpy(array[order]) for array in (scores, pairs.labels))
        return float(self.loss(logits, labels, sizes))


def scores_of(model: Any, batches: PairBatches) -> Floats:
    """The logit of every pair, the longest first, as many together as fit."""
    import torch

    lengths = batches.pairs.lengths
    scores = np.zeros(len(lengths), dtype=np.float32)
    order = np.argsort(-lengths, kind="stable")
    device = next(model.parameters()).device
    start = 0
    with torch.inference_mode():
        while start < len(order):
            rows = order[start : start + max(1, BATCH_TOKENS // int(lengths[order[start]]))]
            given = {name: tensor.to(device) for name, tensor in batches.inputs(rows).items()}
            scores[rows] = model(**given).logits.reshape(-1).float().cpu().numpy()
            start += len(rows)
    return scores


def ranking_measures(pairs: LabelledPairs, scores: Floats, measures: Sequence[str]) -> dict[str, float]:
    """The measures of the ranking that scores give; a document with several passages has the best of their scores."""
    if not np.isfinite(scores).all():
        return {}
    ranking = ranking_of(pairs.query_ids, pairs.document_ids, scores.tolist())
    evaluation = evaluate(grades_of(pairs), ranking, list(measures))
    return {name: evaluation.mean(name) for name in measures}


def grades_of(pairs: LabelledPairs) -> Judgments:
    """The labels as judgments."""
    return judgments_of(pairs.query_ids, pairs.document_ids, pairs.labels.tolist())


def check_validation(pairs: LabelledPairs, measure: str) -> None:
    """Refuse validation pairs that cannot tell a good model from a bad one."""
    grades = grades_of(pairs)
    kinds = [(len(grades.relevant(qid)), len(grades[qid])) for qid in grades]
    relevant, judged = sum(one for one, _ in kinds), sum(one for _, one in kinds)
    if not 0 < relevant < judged:
        raise RankwellError(
            f"validation: expected pairs of both kinds, relevant and not, to measure {measure} on, found {relevant:,} "
            f"relevant among {judged:,}: hold out more, or give a folder of validation pairs"
        )
    within = any(0 < one < of_query for one, of_query in kinds)
    if not within and parse_measure(measure) != parse_measure(OVER_ALL):
        raise RankwellError(
            f"validation: expected queries with relevant documents and others, to measure {measure} on, found none "
            f"among {len(grades):,} queries: measure {OVER_ALL}, which compares pairs of different queries"
        )
