from __future__ import annotations

import math

import pytest

from rankwell.core import ParameterError
from rankwell.evaluation.significance import MARKS, mark, stars
from rankwell.evaluation.significance.correction import dagger


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (1.0, ""),
        (0.05, ""),
        (math.nextafter(0.05, 0), "*"),
        (0.01, "*"),
        (math.nextafter(0.01, 0), "**"),
        (0.001, "**"),
        (math.nextafter(0.001, 0), "***"),
        (0.0001, "***"),
        (math.nextafter(0.0001, 0), "****"),
        (0.0, "****"),
        (math.nan, ""),
    ],
)
def test_stars_are_given_below_a_threshold_not_at_it(p: float, expected: str) -> None:
    assert stars(p) == expected


def test_a_dagger_is_given_below_5_percent() -> None:
    assert [dagger(p) for p in (0.0, 0.049, 0.05, 0.9, math.nan)] == ["†", "†", "", "", ""]


def test_marks_are_found_by_name_with_their_legend() -> None:
    assert mark("stars").of(0.02) == "*"
    assert mark("dagger").legend == "† p < .05"
    assert mark("none").of(0.0) == ""
    assert list(MARKS) == sorted(MARKS)
    with pytest.raises(ParameterError, match='marks: expected dagger or none or stars, found "x"'):
        mark("x")
