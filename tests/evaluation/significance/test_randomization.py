from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rankwell.core import ParameterError
from rankwell.evaluation.significance import TTest
from rankwell.evaluation.significance.resampling import (
    Randomization,
    all_patterns,
    random_patterns,
    selected_counts,
    selected_sums,
)

RNG = np.random.default_rng(11)
OURS, THEIRS = RNG.random(60) + 0.12, RNG.random(60)

differences = st.lists(st.integers(-8, 8).map(lambda eighths: eighths / 8), min_size=1, max_size=10)


def enumerated_p(found: list[float]) -> float:
    """The definition, pattern by pattern."""
    patterns = np.array(list(itertools.product([1, -1], repeat=len(found))))
    return float(np.mean(np.abs(patterns @ found) >= abs(sum(found)) - 1e-12))


@settings(deadline=None)
@given(differences)
def test_few_queries_get_the_exact_p(found: list[float]) -> None:
    result = Randomization()(found, np.zeros(len(found)))
    assert result.p == pytest.approx(enumerated_p(found), abs=1e-15)
    assert (result.permutations, result.seed) == (2 ** len(found), None)


def test_exact_p_equals_scipys() -> None:
    expected = stats.permutation_test(
        (OURS[:12], THEIRS[:12]), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert Randomization()(OURS[:12], THEIRS[:12]).p == pytest.approx(float(expected.pvalue))


def test_drawn_p_is_close_to_the_exact_one() -> None:
    exact = Randomization(permutations=2**16)(OURS[:16], THEIRS[:16])
    drawn = Randomization(permutations=2**16 - 1, seed=5)(OURS[:16], THEIRS[:16])
    assert drawn.seed == 5
    assert drawn.p == pytest.approx(exact.p, abs=4 * math.sqrt(exact.p / 2**16))
    assert drawn.interval == pytest.approx(exact.interval, abs=0.01)


def test_drawn_p_and_interval_are_close_to_the_t_tests_on_many_queries() -> None:
    drawn, t = Randomization()(OURS, THEIRS), TTest()(OURS, THEIRS)
    assert drawn.p == pytest.approx(t.p, rel=0.2)
    assert drawn.interval == pytest.approx(t.interval, abs=0.01)


def test_drawn_p_is_never_zero() -> None:
    assert Randomization(permutations=999)(np.ones(50), np.zeros(50)).p == 1 / 1000


def test_the_same_seed_gives_the_same_result_and_another_seed_another() -> None:
    assert Randomization(seed=1)(OURS, THEIRS) == Randomization(seed=1)(OURS, THEIRS)
    assert Randomization(seed=1)(OURS, THEIRS).p != Randomization(seed=2)(OURS, THEIRS).p


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 6)), min_size=6, max_size=10, unique=True))
def test_the_interval_holds_the_shifts_that_the_test_does_not_reject(found: list[float]) -> None:
    array = np.array(found)
    test = Randomization(level=0.9, tolerance=0)
    low, high = test(array, np.zeros(len(array))).interval
    width = max(high - low, 1e-3)
    for inside in (low + 1e-7 * width, high - 1e-7 * width):
        assert enumerated_p((array - inside).tolist()) > 0.1 - 1e-12
    for outside in (low - 1e-7 * width, high + 1e-7 * width):
        assert enumerated_p((array - outside).tolist()) <= 0.1 + 1e-12


def test_five_queries_bound_nothing_at_95_percent() -> None:
    found = Randomization()(np.ones(5), np.zeros(5))
    assert found.interval == (-math.inf, math.inf)
    assert found.p == 2 / 32


def test_patterns_do_not_depend_on_the_blocks() -> None:
    small = np.concatenate(list(random_patterns(70, 300, seed=4, block=64)))
    assert np.array_equal(small, np.concatenate(list(random_patterns(70, 300, seed=4))))
    assert np.array_equal(np.concatenate(list(all_patterns(9, block=100))), np.concatenate(list(all_patterns(9))))


@pytest.mark.parametrize("queries", [1, 8, 63, 64, 65, 200])
def test_a_pattern_selects_what_its_bits_say(queries: int) -> None:
    values = np.random.default_rng(queries).random(queries)
    patterns = np.concatenate(list(random_patterns(queries, 50, seed=0)))
    bits = np.unpackbits(patterns, axis=1, bitorder="little")
    assert not bits[:, queries:].any()
    assert selected_sums(values, patterns) == pytest.approx(bits[:, :queries] @ values)
    assert selected_counts(patterns).tolist() == bits.sum(axis=1).tolist()


def test_every_query_is_flipped_half_of_the_time() -> None:
    bits = np.unpackbits(np.concatenate(list(random_patterns(90, 20_000, seed=0))), axis=1, bitorder="little")[:, :90]
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.02


def test_no_permutations_are_refused() -> None:
    with pytest.raises(ParameterError, match="permutations: expected a number of sign patterns, at least 1, found 0"):
        Randomization(permutations=0)
