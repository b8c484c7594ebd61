"""Evaluation of runs against judgments: values per query, means, and the share of judged documents."""

from __future__ import annotations

from rankwell.evaluation.comparison import Comparison, Difference, Sweep, compare, depth_sweep, sweep
from rankwell.evaluation.evaluation import Bounds, Evaluation, bounds, evaluate, measure_judged, unjudged_documents
from rankwell.evaluation.judged import Judged, join, leave_out_own
from rankwell.evaluation.measures import MEASURES, parse_measure
from rankwell.evaluation.measures.measure import Measure
from rankwell.evaluation.run_analysis import (
    Confusion,
    RankMovement,
    RocCurve,
    ScoreDistribution,
    TopGrades,
    auc,
    classify,
    rank_movement,
    roc_curve,
    score_distribution,
    top_grades,
)

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
    "leave_out_own",
    "measure_judged",
    "parse_measure",
    "rank_movement",
    "roc_curve",
    "score_distribution",
    "sweep",
    "top_grades",
    "unjudged_documents",
]
