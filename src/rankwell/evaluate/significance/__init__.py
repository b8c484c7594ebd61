"""Is the difference real? Paired tests, intervals, corrections and marks, over plain arrays of per-query values.

TTest()(bert, bm25).p                                  # two systems, the same queries in the same order
paired_test("randomization", seed=7)(bert, bm25)       # by name, as a command has it
correct([0.01, 0.04, 0.03], "holm")
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rankwell.core import ParameterError
from rankwell.evaluate.significance.bootstrap import Bootstrap
from rankwell.evaluate.significance.confidence import INTERVALS, confidence_interval
from rankwell.evaluate.significance.correction import CORRECTIONS, correct
from rankwell.evaluate.significance.enough import detectable_difference, smallest_p, too_few_queries
from rankwell.evaluate.significance.interval import Interval
from rankwell.evaluate.significance.marks import MARKS, Mark, dagger, mark, stars
from rankwell.evaluate.significance.paired import PairedDifference, PairedTest
from rankwell.evaluate.significance.randomization import Randomization
from rankwell.evaluate.significance.t_test import TTest

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
