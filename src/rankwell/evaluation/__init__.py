"""Evaluation of runs against judgments: values per query, means, and the share of judged documents."""

from __future__ import annotations

from rankwell.evaluation.classification import (
    Confusion,
    RocCurve,
    ScoreDistribution,
    auc,
    classify,
    roc_curve,
    score_distribution,
)
from rankwell.evaluation.comparison import Comparison, Difference, compare
from rankwell.evaluation.evaluation import Evaluation, evaluate, measure_judged
from rankwell.evaluation.judged import Judged, join
from rankwell.evaluation.measures import MEASURES
from rankwell.evaluation.measures.measure import Measure
from rankwell.evaluation.names import parse_measure
from rankwell.evaluation.sweep import Sweep, depth_sweep, sweep
from rankwell.evaluation.top import RankMovement, TopGrades, rank_movement, top_grades
from rankwell.evaluation.unjudged import Bounds, bounds, unjudged_documents

__all__ = [
    "MEASURES",
    "Bounds",
    "Comparison",
    "Confusion",
    "Difference",
    "Evaluation",
    "Judged",
    "Measure",
    "RankMovement",
    "RocCurve",
    "ScoreDistribution",
    "Sweep",
    "TopGrades",
    "auc",
    "bounds",
    "classify",
    "compare",
    "depth_sweep",
    "evaluate",
    "join",
    "measure_judged",
    "parse_measure",
    "rank_movement",
    "roc_curve",
    "score_distribution",
    "sweep",
    "top_grades",
    "unjudged_documents",
]
