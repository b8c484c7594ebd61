from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from rankwell.core import ParameterError
from rankwell.evaluation.significance import confidence_interval
from rankwell.evaluation.significance.resampling import INTERVALS


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=60), st.sampled_from([0.5, 0.95, 0.99]))
def test_t_interval_equals_scipys(thousandths: list[int], level: float) -> None:
    values = np.array(thousandths) / 1000
    assume(np.ptp(values) > 0)
    expected = stats.t.interval(level, len(values) - 1, loc=values.mean(), scale=stats.sem(values))
    assert confidence_interval(values, level) == pytest.approx(expected, rel=1e-10, abs=1e-13)


def test_bootstrap_interval_is_close_to_students_on_many_values() -> None:
    values = np.random.default_rng(2).random(300)
    assert confidence_interval(values, method="bootstrap") == pytest.approx(confidence_interval(values), abs=0.005)


@pytest.mark.parametrize("method", INTERVALS)
def test_few_or_equal_values(method: str) -> None:
    assert confidence_interval([], method=method) == (-math.inf, math.inf)
    assert confidence_interval([0.4], method=method) == (-math.inf, math.inf)
    assert confidence_interval([0.1] * 3, method=method) == (0.1, 0.1)


def test_unknown_methods_and_levels_are_refused() -> None:
    with pytest.raises(ParameterError, match='method: expected bca or bootstrap or t, found "z"'):
        confidence_interval([0.1, 0.2], method="z")
    with pytest.raises(ParameterError, match=r"level: expected a number between 0 and 1, such as 0\.95, found 95"):
        confidence_interval([0.1, 0.2], level=95)
