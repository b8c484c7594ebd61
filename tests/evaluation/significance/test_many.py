"""Several comparisons at once find what each finds alone."""

from __future__ import annotations

import numpy as np
import pytest

from rankwell.evaluation.significance import resampling
from rankwell.evaluation.significance.paired import PairedTest, TTest
from rankwell.evaluation.significance.resampling import Bootstrap, Randomization
from rankwell.evaluation.significance.wilcoxon import Wilcoxon


@pytest.mark.parametrize("test", [TTest(), Wilcoxon(), Bootstrap(permutations=300), Randomization(permutations=300)])
@pytest.mark.parametrize("queries", [1, 5, 70])
@pytest.mark.parametrize("systems", [2, 9])
def test_a_comparison_among_many_is_the_one_alone(
    monkeypatch: pytest.MonkeyPatch, test: PairedTest, queries: int, systems: int
) -> None:
    monkeypatch.setattr(resampling, "MANY_VALUES", 0)
    monkeypatch.setattr(resampling, "TOGETHER", 4)
    generator = np.random.default_rng(1)
    baseline = generator.random(queries)
    rows = [baseline, baseline + 0.25, *(generator.random((systems, queries)))]
    rows += [np.where(generator.random(queries) < 0.8, baseline, row) for row in rows[2:]]  # mostly ties
    for one, values in zip(test.many([(row, baseline) for row in rows]), rows, strict=True):
        alone = test(values, baseline)
        assert one.p == alone.p
        assert one.interval == pytest.approx(alone.interval, rel=1e-12)
        assert (one.mean, one.wins, one.ties, one.losses, one.seed) == (
            *(alone.mean, alone.wins, alone.ties, alone.losses, alone.seed),
        )


def test_comparisons_over_different_queries_are_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MANY_VALUES", 0)
    generator = np.random.default_rng(2)
    pairs = [(generator.random(size), generator.random(size)) for size in (30, 31, 30, 30)]
    test = Bootstrap(permutations=100)
    assert test.many(pairs) == [test(*pair) for pair in pairs]


def test_the_means_of_many_do_not_depend_on_the_size_of_blocks() -> None:
    table = np.random.default_rng(3).random((4, 60))
    means = resampling.bootstrap_tables(table, 200, seed=5)
    assert means == pytest.approx(resampling.bootstrap_tables(table, 200, seed=5, block=1), rel=1e-12)
    assert means[2] == pytest.approx(resampling.bootstrap_means(table[2], 200, seed=5), rel=1e-12)
