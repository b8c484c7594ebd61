from __future__ import annotations

import numpy as np
import pytest

from rankwell.core import ParameterError
from rankwell.evaluation.significance import TTest, confidence_interval
from rankwell.evaluation.significance.resampling import Bootstrap, bootstrap_means

RNG = np.random.default_rng(12)
OURS, THEIRS = RNG.random(80) + 0.02, RNG.random(80)


def test_bootstrap_is_close_to_the_t_test_on_many_queries() -> None:
    drawn, t = Bootstrap(permutations=50_000)(OURS, THEIRS), TTest()(OURS, THEIRS)
    assert drawn.p == pytest.approx(t.p, rel=0.2)
    assert drawn.interval == pytest.approx(t.interval, abs=0.01)


def test_p_counts_the_shifted_means_that_are_as_extreme() -> None:
    found = OURS - THEIRS
    means = bootstrap_means(found, 2000, seed=3)
    extreme = sum(abs(mean - found.mean()) >= abs(found.mean()) for mean in means)
    assert Bootstrap(permutations=2000, seed=3)(OURS, THEIRS).p == (extreme + 1) / 2001


def test_the_same_seed_gives_the_same_result_and_another_seed_another() -> None:
    assert Bootstrap(seed=1)(OURS, THEIRS) == Bootstrap(seed=1)(OURS, THEIRS)
    assert Bootstrap(seed=1)(OURS, THEIRS).interval != Bootstrap(seed=2)(OURS, THEIRS).interval


def test_samples_do_not_depend_on_the_blocks() -> None:
    one_by_one = bootstrap_means(OURS, 500, seed=1, block=1)
    assert one_by_one == pytest.approx(bootstrap_means(OURS, 500, seed=1), rel=1e-12)


def test_95_percent_intervals_hold_the_true_mean_about_that_often() -> None:
    rng = np.random.default_rng(8)
    intervals = [confidence_interval(rng.beta(2, 3, 40), method="bootstrap", seed=seed) for seed in range(200)]
    assert 0.90 <= np.mean([0.4 in interval for interval in intervals]) <= 0.99


def test_p_is_below_5_percent_about_that_often_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(9)
    samples = [Bootstrap(permutations=1000, seed=seed)(rng.random(50), rng.random(50)).p for seed in range(300)]
    assert 0.02 <= np.mean(np.array(samples) < 0.05) <= 0.09


def test_equal_differences_get_the_smallest_p_and_a_point() -> None:
    found = Bootstrap(permutations=99)([0.3, 0.5], [0.1, 0.3])
    assert found.p == 1 / 100
    assert found.interval == pytest.approx((0.2, 0.2))


def test_no_samples_are_refused() -> None:
    with pytest.raises(ParameterError, match="permutations: expected a number of samples, at least 1, found 0"):
        Bootstrap(permutations=0)
