"""What is true of every test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwell.core import ParameterError
from rankwell.evaluation.significance import TESTS, Interval, PairedTest, paired_test

every_test = pytest.mark.parametrize("test", [kind() for kind in TESTS.values()], ids=list(TESTS))
quick_tests = st.sampled_from(
    [paired_test("t"), paired_test("randomization", permutations=500), paired_test("bootstrap", permutations=500)]
)
values = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=40).map(
    lambda rows: np.array(rows, dtype=float).reshape(-1, 2).T / 100
)


@settings(deadline=None)
@given(quick_tests, values)
def test_swapping_the_systems_turns_everything_round(test: PairedTest, pair: np.ndarray) -> None:
    there, back = test(*pair), test(*pair[::-1])
    assert back.p == there.p
    assert back.mean == pytest.approx(-there.mean, nan_ok=True)
    assert back.effect_size == pytest.approx(-there.effect_size, nan_ok=True)
    assert back.interval == pytest.approx((-there.interval.high, -there.interval.low))
    assert (back.wins, back.ties, back.losses) == (there.losses, there.ties, there.wins)


@settings(deadline=None)
@given(quick_tests, values)
def test_p_is_a_probability_and_every_query_is_counted_once(test: PairedTest, pair: np.ndarray) -> None:
    found = test(*pair)
    assert 0 <= found.p <= 1
    assert found.wins + found.ties + found.losses == found.queries == pair.shape[1]
    assert found.interval.low <= found.interval.high


@every_test
def test_no_query_says_nothing(test: PairedTest) -> None:
    found = test([], [])
    assert (found.p, found.queries, found.interval) == (1, 0, (-math.inf, math.inf))
    assert math.isnan(found.mean)
    assert math.isnan(found.effect_size)


@every_test
def test_one_query_says_nothing_either(test: PairedTest) -> None:
    found = test([0.9], [0.1])
    assert (found.p, found.mean, found.wins, found.interval) == (1, 0.8, 1, (-math.inf, math.inf))
    assert math.isnan(found.effect_size)


@every_test
def test_equal_systems_have_p_1_and_no_effect(test: PairedTest) -> None:
    found = test(np.full(20, 0.3), np.full(20, 0.3))
    assert (found.p, found.mean, found.effect_size, found.ties, found.interval) == (1, 0, 0, 20, (0, 0))


@every_test
def test_rounding_is_no_difference(test: PairedTest) -> None:
    theirs = np.linspace(0.1, 0.9, 30)
    found = test(theirs + 1e-16 * np.arange(30), theirs)
    assert (found.p, found.mean, found.ties) == (1, 0, 30)


@every_test
def test_a_certain_difference_is_found(test: PairedTest) -> None:
    rng = np.random.default_rng(1)
    theirs = rng.random(50)
    found = test(theirs + 0.1 + 0.05 * rng.random(50), theirs)
    assert found.p < 0.001
    assert 0.125 in found.interval
    assert 0 not in found.interval


@every_test
def test_where_lower_is_better_a_lower_value_wins(test: PairedTest) -> None:
    found = test([1.0, 1.0, 2.0], [3.0, 2.0, 1.0], higher_is_better=False)
    assert (found.wins, found.losses) == (2, 1)
    assert found.mean == pytest.approx(-2 / 3)


@every_test
@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ([0.1, 0.2], [0.1], "values, baseline: expected values of the same queries, one each, found 2 and 1"),
        ([0.1, math.nan], [0.1, 0.2], "values: expected finite values, found nan at place 1"),
        ([0.1], [math.inf], "baseline: expected finite values, found inf at place 0"),
        ([[0.1]], [[0.1]], r"values: expected one value a query, found an array of shape \(1, 1\)"),
    ],
)
def test_what_cannot_be_paired_is_refused(test: PairedTest, ours: list, theirs: list, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        test(ours, theirs)


def test_the_given_arrays_are_left_alone() -> None:
    ours = np.array([0.1, 0.2, 0.3])
    paired_test("t")(ours, ours - 1e-12)
    assert ours.tolist() == [0.1, 0.2, 0.3]


def test_tests_are_found_by_name() -> None:
    assert list(TESTS) == ["t", "randomization", "bootstrap", "wilcoxon"]
    assert paired_test("randomization", seed=3) == TESTS["randomization"](seed=3)
    with pytest.raises(
        ParameterError, match='test: expected t or randomization or bootstrap or wilcoxon, found "sign"'
    ):
        paired_test("sign")


@pytest.mark.parametrize("parameters", [{"level": 95}, {"level": 0}, {"tolerance": -1}, {"tolerance": math.nan}])
def test_impossible_parameters_are_refused(parameters: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        paired_test("t", **parameters)


def test_half_width_of_an_interval() -> None:
    assert Interval(-0.1, 0.3).half_width == pytest.approx(0.2)
