from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from rankwell.evaluation.significance.student import log_incomplete_beta

parameters = st.floats(-2, 3).map(lambda exponent: 10**exponent)
shares = st.floats(1e-9, 1 - 1e-9)


def incomplete_beta(a: float, b: float, x: float) -> float:
    return math.exp(log_incomplete_beta(a, b, math.log(x), math.log1p(-x)))


@given(parameters, parameters, shares)
def test_incomplete_beta_equals_scipys(a: float, b: float, x: float) -> None:
    expected = float(special.betainc(a, b, x))
    # Below this scipy itself loses digits: see the exact powers in the next test.
    if expected > 1e-250:
        assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=2e-12)


@pytest.mark.parametrize(("a", "x"), [(100, 1e-3), (900, 0.47), (1000, 0.5), (3, 1e-100)])
def test_tails_keep_their_digits_down_to_1e_300(a: int, x: float) -> None:
    assert incomplete_beta(a, 1, x) == pytest.approx(x**a, rel=1e-12)


def test_incomplete_beta_with_whole_parameters_is_a_sum_of_binomials() -> None:
    a, b, x = 12, 30, 0.21
    n = a + b - 1
    expected = math.fsum(math.comb(n, j) * x**j * (1 - x) ** (n - j) for j in range(a, n + 1))
    assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-13)


@given(parameters, parameters, shares)
def test_two_sides_make_one(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) + incomplete_beta(b, a, 1 - x) == pytest.approx(1, abs=1e-6)
