from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankwell.core import ParameterError
from rankwell.evaluation.significance.student import quantile, two_sided_p

degrees = st.integers(1, 10_000)


@given(st.floats(-4, 4).map(lambda exponent: 10**exponent), degrees)
def test_two_sided_p_equals_scipys(t: float, df: int) -> None:
    expected = 2 * float(stats.t.sf(t, df))
    if expected > 1e-300:
        assert two_sided_p(t, df) == pytest.approx(expected, rel=2e-12)


@pytest.mark.parametrize("t", [1e5, 1e100, 1e160, 1e290])
def test_cauchy_tail_is_right_however_far_out(t: float) -> None:
    assert two_sided_p(t, 1) == pytest.approx(2 / math.pi * math.atan(1 / t), rel=1e-12)


@pytest.mark.parametrize("t", [1e-300, 1e-9, 0.3, 7.0, 1e6])
def test_two_degrees_have_a_closed_form(t: float) -> None:
    # 1 - t / sqrt(t^2 + 2), written so that it does not cancel.
    root = math.sqrt(t * t + 2)
    assert two_sided_p(t, 2) == pytest.approx(2 / (root * (root + t)), rel=1e-12)


@given(st.floats(0, 100), degrees)
def test_p_does_not_know_the_sign(t: float, df: int) -> None:
    assert two_sided_p(t, df) == two_sided_p(-t, df)


def test_no_difference_and_an_infinite_one() -> None:
    assert two_sided_p(0.0, 5) == 1
    assert two_sided_p(math.inf, 5) == 0


@given(st.floats(1e-12, 1 - 1e-12), degrees)
def test_quantile_equals_scipys(p: float, df: int) -> None:
    assert quantile(p, df) == pytest.approx(float(stats.t.ppf(p, df)), rel=1e-9, abs=1e-14)


@given(st.floats(-290, -1).map(lambda exponent: 10**exponent), degrees)
def test_quantile_of_a_tail_leads_back_to_it(p: float, df: int) -> None:
    assert two_sided_p(quantile(p, df), df) == pytest.approx(2 * p, rel=1e-10)


def test_quantiles_of_a_printed_table() -> None:
    assert [round(quantile(0.975, df), 3) for df in (1, 9, 41, 199)] == [12.706, 2.262, 2.020, 1.972]


def test_the_median_is_zero() -> None:
    assert quantile(0.5, 7) == 0


@pytest.mark.parametrize(("p", "df"), [(0, 5), (1, 5), (math.nan, 5), (0.9, 0), (0.9, math.inf)])
def test_what_has_no_quantile_is_refused(p: float, df: float) -> None:
    with pytest.raises(ParameterError, match="expected"):
        quantile(p, df)
