"""Measures of runs against judgments: values per query, means, and how much they rest on judgments."""

from __future__ import annotations

from rankwell.evaluate.breakdown import TopGrades, top_grades
from rankwell.evaluate.classification import Confusion, classify
from rankwell.evaluate.comparison import Comparison, Difference, compare
from rankwell.evaluate.evaluation import Evaluation, evaluate, measure_judged
from rankwell.evaluate.joining import join
from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures import MEASURES, Measure
from rankwell.evaluate.movement import RankMovement, rank_movement
from rankwell.evaluate.names import parse_measure
from rankwell.evaluate.pooling import unjudged_documents
from rankwell.evaluate.roc import RocCurve, auc, roc_curve
from rankwell.evaluate.scores import ScoreDistribution, score_distribution
from rankwell.evaluate.sweep import Sweep, depth_sweep, sweep
from rankwell.evaluate.unjudged import Bounds, bounds

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
