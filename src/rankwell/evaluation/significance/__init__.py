"""Significance of differences: paired tests, intervals, corrections and marks, over arrays of per-query values.

TTest()(bert, bm25).p                                  # two systems, the same queries in the same order
paired_test("randomization", seed=7)(bert, bm25)       # by name, as a command has it
correct([0.01, 0.04, 0.03], "holm")
"""

from __future__ import annotations

from rankwell.evaluation.significance.correction import CORRECTIONS, MARKS, correct, mark, stars
from rankwell.evaluation.significance.paired import (
    Interval,
    PairedDifference,
    PairedTest,
    TTest,
    t_interval,
    too_few_queries,
)
from rankwell.evaluation.significance.resampling import INTERVALS, TESTS, confidence_interval, paired_test, seeded_test
from rankwell.evaluation.significance.tukey import tukey_hsd

__all__ = [
    "CORRECTIONS",
    "INTERVALS",
    "MARKS",
    "TESTS",
    "Interval",
    "PairedDifference",
    "PairedTest",
    "TTest",
    "confidence_interval",
    "correct",
    "mark",
    "paired_test",
    "seeded_test",
    "stars",
    "t_interval",
    "too_few_queries",
    "tukey_hsd",
]
