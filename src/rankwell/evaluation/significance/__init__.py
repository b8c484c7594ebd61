"""Significance of differences: paired tests, intervals, corrections and marks, over arrays of per-query values.

TTest()(bert, bm25).p                                  # two systems, the same queries in the same order
paired_test("randomization", seed=7)(bert, bm25)       # by name, as a command has it
correct([0.01, 0.04, 0.03], "holm")
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rankwell.core import ParameterError
from rankwell.evaluation.significance.bootstrap import INTERVALS, Bootstrap, confidence_interval
from rankwell.evaluation.significance.correction import CORRECTIONS, MARKS, Mark, correct, dagger, mark, stars
from rankwell.evaluation.significance.interval import Interval
from rankwell.evaluation.significance.paired import (
    PairedDifference,
    PairedTest,
    detectable_difference,
    smallest_p,
    too_few_queries,
)
from rankwell.evaluation.significance.randomization import Randomization
from rankwell.evaluation.significance.t_test import TTest

__all__ = [
    "CORRECTIONS",
    "INTERVALS",
    "MARKS",
    "TESTS",
    "Bootstrap",
    "Interval",
    "Mark",
    "PairedDifference",
    "PairedTest",
    "Randomization",
    "TTest",
    "confidence_interval",
    "correct",
    "dagger",
    "detectable_difference",
    "mark",
    "paired_test",
    "smallest_p",
    "stars",
    "too_few_queries",
]


TESTS: Mapping[str, type[PairedTest]] = MappingProxyType(
    {test.name: test for test in (TTest, Randomization, Bootstrap)}
)


def paired_test(name: str, **parameters: Any) -> PairedTest:
    """The test of that name with these parameters (`level`, `tolerance`; `permutations` and `seed` where it draws)."""
    if name not in TESTS:
        raise ParameterError("test", expected=" or ".join(TESTS), found=name)
    return TESTS[name](**parameters)
