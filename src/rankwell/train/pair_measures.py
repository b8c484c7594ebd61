"""How well scores rank the documents of pairs; of a document's passages the best counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankwell.core import Judgments, Run
from rankwell.evaluate import evaluate
from rankwell.train.pairs import Pairs

HALF = 0.5  # more yes than no


def pair_measures(pairs: Pairs, scores: Sequence[float], measures: Sequence[str]) -> dict[str, float]:
    """The measures of the ranking that scores, one a pair, give."""
    evaluation = evaluate(judgments_of_pairs(pairs), ranking_of_pairs(pairs, scores), list(measures))
    return {name: evaluation.mean(name) for name in measures}


def judgments_of_pairs(pairs: Pairs) -> Judgments:
    """The labels of pairs as judgments."""
    return judgments_of(pairs.column("query_id"), pairs.column("document_id"), pairs.column("label"))


def ranking_of_pairs(pairs: Pairs, scores: Sequence[float]) -> Run:
    """The documents of each query by the scores of their pairs."""
    return ranking_of(pairs.column("query_id"), pairs.column("document_id"), scores)


def judgments_of(query_ids: Sequence[str], document_ids: Sequence[str], labels: Sequence[float]) -> Judgments:
    """Labels as judgments: whole ones are grades, others are relevant from one half on."""
    grades: dict[str, dict[str, int]] = {}
    for query, document, label in zip(query_ids, document_ids, labels, strict=True):
        grade = int(label) if label == int(label) else int(label >= HALF)
        judged = grades.setdefault(query, {})
        judged[document] = max(grade, judged.get(document, grade))
    return Judgments.from_dict(grades)


def ranking_of(query_ids: Sequence[str], document_ids: Sequence[str], scores: Sequence[float]) -> Run:
    """The documents of each query by their scores."""
    best: dict[str, dict[str, float]] = {}
    for query, document, score in zip(query_ids, document_ids, scores, strict=True):
        ranked = best.setdefault(query, {})
        ranked[document] = max(score, ranked.get(document, -math.inf))
    return Run.from_dict(best)
