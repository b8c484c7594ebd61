"""When to stop: the probability against scipy, and what is suggested."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from rankwell.core import ParameterError
from rankwell.reviews.screening import suggest_stopping


@given(st.integers(1, 60), st.integers(0, 300), st.integers(0, 300), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_the_probability_is_the_hypergeometric_one(included: int, barren: int, rest: int, recall: float) -> None:
    found = suggest_stopping([True] * included + [False] * barren, included + barren + rest, recall)
    missing = next(m for m in range(1, 99) if included / (included + m) < recall - 1e-12)
    left = barren + rest
    expected = float(hypergeom(left, missing, barren).pmf(0)) if missing <= left else 0.0
    assert found.probability == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert found.stop == (found.probability < 0.05)
    assert found.barren == barren


def test_a_long_run_of_exclusions_says_stop() -> None:
    early = suggest_stopping([True] * 10 + [False] * 50, 1000)
    late = suggest_stopping([True] * 10 + [False] * 950, 1000)
    assert not early.stop
    assert late.stop
    assert early.probability == pytest.approx(1 - 50 / 990)
    assert "the 950 records since the last inclusion are no worse than a random sample" in late.assumption
    assert "a recall below 95%" in late.assumption


def test_only_exclusions_after_the_last_inclusion_count() -> None:
    assert suggest_stopping([False] * 90 + [True], 100).barren == 0
    assert suggest_stopping([False] * 90 + [True], 100).probability == 1


def test_19_of_20_are_95_percent() -> None:
    """With 19 found, one more may be missing: it takes two for a recall below 95 %."""
    found = suggest_stopping([True] * 19 + [False] * 10, 49)
    assert found.probability == pytest.approx(math.comb(28, 10) / math.comb(30, 10))


def test_when_everything_was_looked_at_it_stops() -> None:
    assert suggest_stopping([True, False, True], 3).stop
    assert suggest_stopping([False, False], 2).stop


def test_at_the_beginning_it_does_not_stop() -> None:
    assert not suggest_stopping([], 10).stop
    assert not suggest_stopping([False] * 5, 10).stop


@pytest.mark.parametrize(("recall", "alpha", "name"), [(1, 0.05, "recall"), (0, 0.05, "recall"), (0.9, 0, "alpha")])
def test_impossible_wishes_are_refused(recall: float, alpha: float, name: str) -> None:
    with pytest.raises(ParameterError, match=f"{name}: expected a number between 0 and 1"):
        suggest_stopping([True], 10, recall, alpha)


def test_more_decisions_than_records_are_refused() -> None:
    with pytest.raises(ParameterError, match="decisions: expected at most 1, found 2"):
        suggest_stopping([True, False], 1)
