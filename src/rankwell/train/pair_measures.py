"""How well scores rank the documents of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankwell.core import Judgments, Run
from rankwell.evaluate import evaluate
from rankwell.train.pairs import Pairs


def pair_measures(pairs: Pairs, scores: Sequence[float], measures: Sequence[str]) -> dict[str, float]:
    """The measures of the ranking that scores, one a pair, give; of a document's passages the best counts."""
    judgments, ranking = judgments_of_pairs(pairs), ranking_of_pairs(pairs, scores)
    evaluation = evaluate(judgments, ranking, list(measures))
    return {name: evaluation.mean(name) for name in measures}


def judgments_of_pairs(pairs: Pairs) -> Judgments:
    """Labels as judgments: whole ones are grades, others are relevant from one half on."""
    grades: dict[str, dict[str, int]] = {}
    for query, document, label in _keys(pairs, pairs.column("label")):
        grade = int(label) if label == int(label) else int(label >= 0.5)  # noqa: PLR2004 -- more yes than no
        judged = grades.setdefault(query, {})
        judged[document] = max(grade, judged.get(document, grade))
    return Judgments.from_dict(grades)


def ranking_of_pairs(pairs: Pairs, scores: Sequence[float]) -> Run:
    """The documents of each query by their scores."""
    best: dict[str, dict[str, float]] = {}
    for query, document, score in _keys(pairs, scores):
        ranked = best.setdefault(query, {})
        ranked[document] = max(score, ranked.get(document, -math.inf))
    return Run.from_dict(best)


def _keys(pairs: Pairs, values: Sequence[float]) -> zip[tuple[str, str, float]]:
    return zip(pairs.column("query_id"), pairs.column("document_id"), values, strict=True)
