"""Evaluation of runs against judgments: values per query, means, and the share of judged documents."""

from __future__ import annotations

from rankwell.evaluation.comparison import Comparison, compare
from rankwell.evaluation.evaluation import Evaluation, Evaluations, evaluate, unjudged_documents
from rankwell.evaluation.judged import join
from rankwell.evaluation.measures import MEASURES, parse_measure
from rankwell.evaluation.measures.measure import Measure
from rankwell.evaluation.run_analysis import classify, rank_movement, top_grades
from rankwell.evaluation.sweeps import Sweep, depth_sweep, sweep

__all__ = [
    "MEASURES",
    "Comparison",
    "Evaluation",
    "Evaluations",
    "Measure",
    "Sweep",
    "classify",
    "compare",
    "depth_sweep",
    "evaluate",
    "join",
    "parse_measure",
    "rank_movement",
    "sweep",
    "top_grades",
    "unjudged_documents",
]
