from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankwell.core import ParameterError
from rankwell.evaluation.significance import CORRECTIONS, correct

families = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_bonferroni_by_hand() -> None:
    assert correct([0.01, 0.04, 0.5], "bonferroni") == pytest.approx([0.03, 0.12, 1.0])


def test_holm_by_hand() -> None:
    # Sorted: .01 * 4, .02 * 3, .03 * 2, .04 * 1 -> .04, .06, .06, then .04 is raised to .06.
    assert correct([0.04, 0.01, 0.03, 0.02], "holm") == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_holm_goes_no_higher_than_1() -> None:
    assert correct([0.9, 0.6, 0.5], "holm") == pytest.approx([1, 1, 1])


def test_benjamini_hochberg_by_hand() -> None:
    # Sorted: .005 * 4/1, .03 * 4/2, .036 * 4/3, .5 * 4/4 -> .02, .06, .048, .5, then .06 is lowered to .048.
    assert correct([0.036, 0.5, 0.03, 0.005], "benjamini-hochberg") == pytest.approx([0.048, 0.5, 0.048, 0.02])


@given(families)
def test_benjamini_hochberg_equals_scipys(p_values: list[float]) -> None:
    assert correct(p_values, "benjamini-hochberg") == pytest.approx(stats.false_discovery_control(p_values))


@given(families)
def test_the_stricter_promise_gives_the_larger_p(p_values: list[float]) -> None:
    bonferroni, holm, hochberg, none = (
        correct(p_values, name) for name in ("bonferroni", "holm", "benjamini-hochberg", "none")
    )
    assert (bonferroni >= holm).all()
    assert (holm >= hochberg - 1e-15).all()
    assert (hochberg >= none - 1e-15).all()


@given(families, st.sampled_from(list(CORRECTIONS)))
def test_correcting_keeps_the_order(p_values: list[float], name: str) -> None:
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(correct(p_values, name)[order]) >= 0).all()


@pytest.mark.parametrize("name", CORRECTIONS)
def test_one_comparison_needs_no_correction_and_none_gives_none(name: str) -> None:
    assert correct([0.03], name).tolist() == [0.03]
    assert correct([], name).tolist() == []


def test_given_values_are_left_alone() -> None:
    given_values = np.array([0.2, 0.1])
    correct(given_values, "none")[:] = 0
    assert given_values.tolist() == [0.2, 0.1]


@pytest.mark.parametrize("wrong", [[0.1, 1.5], [-0.1], [math.nan], [[0.1]]])
def test_what_is_no_probability_is_refused(wrong: list) -> None:
    with pytest.raises(ParameterError, match="p_values: expected a list of probabilities from 0 to 1"):
        correct(wrong)


def test_unknown_corrections_are_refused() -> None:
    with pytest.raises(ParameterError, match=r'correction: expected .* or holm or none, found "tukey"'):
        correct([0.1], "tukey")
