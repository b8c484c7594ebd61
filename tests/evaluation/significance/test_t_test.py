from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from rankwell.evaluation.significance import TTest

pairs = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)), min_size=2, max_size=80).map(
    lambda rows: np.array(rows, dtype=float).T / 10_000
)


@given(pairs, st.sampled_from([0.8, 0.95, 0.999]))
def test_t_test_equals_scipys(pair: np.ndarray, level: float) -> None:
    ours, theirs = pair
    assume(np.ptp(ours - theirs) > 1e-6)
    expected = stats.ttest_rel(ours, theirs)
    found = TTest(level=level)(ours, theirs)
    low, high = expected.confidence_interval(level)
    assert found.p == pytest.approx(float(expected.pvalue), rel=1e-9)
    assert found.interval == pytest.approx((low, high), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("noise", [1e-1, 1e-2, 1e-3, 1e-4])
def test_t_test_equals_scipys_far_out_in_the_tail(noise: float) -> None:
    rng = np.random.default_rng(3)
    theirs = rng.random(90)
    ours = theirs + 0.3 + noise * rng.standard_normal(90)
    expected = float(stats.ttest_rel(ours, theirs).pvalue)
    assert expected < 1e-40
    assert TTest()(ours, theirs).p == pytest.approx(expected, rel=1e-10)


def test_a_small_case_by_hand() -> None:
    found = TTest()([0.5, 0.9, 0.4, 0.7], [0.4, 0.6, 0.4, 0.3])
    # Differences .1, .3, 0, .4: mean .2, sd sqrt(.1 / 3), t = .2 / (sd / 2).
    assert found.mean == pytest.approx(0.2)
    assert found.effect_size == pytest.approx(0.2 / math.sqrt(0.1 / 3))
    assert (found.wins, found.ties, found.losses) == (3, 1, 0)
    assert (found.test, found.queries, found.permutations, found.seed) == ("t", 4, None, None)
    # Three degrees of freedom have a closed form.
    angle = found.effect_size * 2 / math.sqrt(3)
    assert found.p == pytest.approx(1 - 2 / math.pi * (math.atan(angle) + angle / (1 + angle**2)))


def test_all_differences_equal_and_not_zero_is_the_limit_p_0() -> None:
    found = TTest()([0.3, 0.4, 0.9], [0.2, 0.3, 0.8])
    assert found.p == 0
    assert found.effect_size == math.inf
    assert found.interval == pytest.approx((0.1, 0.1))
