"""Evaluate a model's ranking of the validation queries' documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwell.core import Floats, Integers, Judgments, RankwellError, Run
from rankwell.evaluation import evaluate, parse_measure
from rankwell.models.learning.pair_batches import PairBatches, PairLabels, rows_by_query
from rankwell.models.learning.pairs import Pairs

HALF = 0.5  # more relevant than not


def pair_measures(pairs: Pairs, scores: Sequence[float], measures: Sequence[str]) -> dict[str, float]:
    """The measures of the ranking by these scores, one per pair."""
    evaluation = evaluate(judgments_of_pairs(pairs), ranking_of_pairs(pairs, scores), list(measures))
    return {name: evaluation.mean(name) for name in measures}


def judgments_of_pairs(pairs: Pairs) -> Judgments:
    """The labels of pairs as judgments."""
    return judgments_of(pairs.column("query_id"), pairs.column("document_id"), pairs.column("label"))


def ranking_of_pairs(pairs: Pairs, scores: Sequence[float]) -> Run:
    """The documents of each query, ranked by the scores of their pairs."""
    return ranking_of(pairs.column("query_id"), pairs.column("document_id"), scores)


def judgments_of(query_ids: Sequence[str], document_ids: Sequence[str], labels: Sequence[float]) -> Judgments:
    """Labels as judgments: integers are grades; others are relevant from 0.5."""
    grades: dict[str, dict[str, int]] = {}
    for query, document, label in zip(query_ids, document_ids, labels, strict=True):
        grade = int(label) if label == int(label) else int(label >= HALF)
        judged = grades.setdefault(query, {})
        judged[document] = max(grade, judged.get(document, grade))
    return Judgments.from_dict(grades)


def ranking_of(query_ids: Sequence[str], document_ids: Sequence[str], scores: Sequence[float]) -> Run:
    """The documents of each query, ranked by score."""
    best: dict[str, dict[str, float]] = {}
    for query, document, score in zip(query_ids, document_ids, scores, strict=True):
        ranked = best.setdefault(query, {})
        ranked[document] = max(score, ranked.get(document, -math.inf))
    return Run.from_dict(best)


MEASURES = ("nDCG@10", "RR@10", "AP", "AUC")
OVER_ALL = "AUC"  # compares pairs across queries
BATCH_TOKENS = 8192  # tokens in one batch, padding included


@dataclass(frozen=True)
class RankingValidation:
    """Scores validation pairs with a model, and computes the measures and the loss."""

    batches: PairBatches
    measures: Sequence[str]
    loss: Any  # a `rankwell.models.learning.losses.Loss`

    def __call__(self, model: Any) -> Mapping[str, float]:
        """The loss and all defined measures."""
        pairs = self.batches.pairs
        scores = scores_of(model, self.batches.inputs, pairs.lengths)
        measured = {"loss": self._loss(scores), **ranking_measures(pairs, scores, self.measures)}
        return {name: value for name, value in measured.items() if math.isfinite(value)}

    def _loss(self, scores: Floats) -> float:
        import torch

        pairs = self.batches.pairs
        by_query = list(rows_by_query(pairs.groups))
        order, sizes = np.concatenate(by_query), [len(rows) for rows in by_query]
        logits, labels = (torch.from_numpy(array[order]) for array in (scores, pairs.labels))
        return float(self.loss(logits, labels, sizes))


def scores_of(model: Any, inputs: Callable[[Integers], dict[str, Any]], lengths: Integers) -> Floats:
    """The logit of each example; scored from long to short in batches that fit, which `inputs` makes of rows."""
    import torch

    scores = np.zeros(len(lengths), dtype=np.float32)
    order = np.argsort(-lengths, kind="stable")
    device = next(model.parameters()).device
    start = 0
    with torch.inference_mode():
        while start < len(order):
            rows = order[start : start + max(1, BATCH_TOKENS // int(lengths[order[start]]))]
            given = {name: tensor.to(device) for name, tensor in inputs(rows).items()}
            scores[rows] = model(**given).logits.reshape(-1).float().cpu().numpy()
            start += len(rows)
    return scores


def ranking_measures(pairs: PairLabels, scores: Floats, measures: Sequence[str]) -> dict[str, float]:
    """The measures of the ranking by these scores; a document with several passages gets their best score."""
    if not np.isfinite(scores).all():
        return {}
    ranking = ranking_of(pairs.query_ids, pairs.document_ids, scores.tolist())
    grades = judgments_of(pairs.query_ids, pairs.document_ids, pairs.labels.tolist())
    evaluation = evaluate(grades, ranking, list(measures))
    return {name: evaluation.mean(name) for name in measures}


def validation_measures(pairs: PairLabels, measure: str) -> tuple[str, ...]:
    """The selecting measure, then the usual ones, by their full names.

    Validation pairs that cannot distinguish good from bad models are refused.
    """
    measure = str(parse_measure(measure))
    grades = judgments_of(pairs.query_ids, pairs.document_ids, pairs.labels.tolist())
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
    return tuple(dict.fromkeys(str(parse_measure(name)) for name in (measure, *MEASURES)))
