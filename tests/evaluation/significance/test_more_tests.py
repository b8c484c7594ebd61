"""Wilcoxon, Tukey's HSD and BCa intervals; scipy is the second opinion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError
from rankwell.evaluation.significance import confidence_interval, paired_test, tukey_hsd
from rankwell.evaluation.significance.tukey import range_tail

stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("queries", [5, 12, 30, 50, 80, 400])
def test_wilcoxon_is_scipys_without_ties(queries: int) -> None:
    generator = np.random.default_rng(queries)
    values, baseline = generator.random((2, queries))
    method = "exact" if queries <= 50 else "asymptotic"
    expected = stats.wilcoxon(values, baseline, method=method).pvalue
    assert paired_test("wilcoxon")(values, baseline).p == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=10))
def test_wilcoxon_counts_all_sign_patterns_where_differences_tie(differences: list[int]) -> None:
    there = np.array([value for value in differences if value], dtype=float)
    found = paired_test("wilcoxon")(np.array(differences, dtype=float), np.zeros(len(differences)))
    if not len(there):
        assert found.p == 1.0
        return
    ranks = stats.rankdata(np.abs(there))
    signs = (np.arange(2 ** len(there))[:, None] >> np.arange(len(there))) & 1
    sums, middle = signs @ ranks, ranks.sum() / 2
    observed = ranks[there > 0].sum()
    expected = np.mean(np.abs(sums - middle) >= abs(observed - middle) - 1e-9)
    assert found.p == pytest.approx(expected)


def test_wilcoxon_beyond_fifty_has_the_normal_approximation_with_ties() -> None:
    generator = np.random.default_rng(3)
    values = generator.integers(-5, 7, 200) / 10
    expected = stats.wilcoxon(values, method="asymptotic").pvalue
    assert paired_test("wilcoxon")(values, np.zeros(200)).p == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("systems", [2, 3, 7, 20])
@pytest.mark.parametrize("degrees", [2, 9, 49, 1000])
def test_the_studentized_range_is_scipys(systems: int, degrees: int) -> None:
    for q in (0.5, 2.0, 3.5, 6.0):
        expected = stats.studentized_range.sf(q, systems, degrees)
        assert range_tail(q, systems, degrees) == pytest.approx(expected, abs=2e-6)


def test_tukey_of_two_systems_is_the_paired_t_test() -> None:
    generator = np.random.default_rng(5)
    values = generator.random((2, 25)) + np.array([[0.1], [0.0]])
    expected = stats.ttest_rel(values[0], values[1]).pvalue
    assert tukey_hsd(values)[0, 1] == pytest.approx(expected, abs=1e-6)


def test_tukey_takes_the_error_of_systems_by_queries() -> None:
    generator = np.random.default_rng(6)
    values = generator.random((4, 20)) + generator.random(20)
    effects = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    scale = np.sqrt((effects**2).sum() / (3 * 19) / 20)
    for (first, second), p in tukey_hsd(values).items():
        q = abs(values[first].mean() - values[second].mean()) / scale
        assert p == pytest.approx(stats.studentized_range.sf(q, 4, 57), abs=2e-6)


def test_tukey_of_equal_and_of_shifted_systems() -> None:
    row = np.array([0.1, 0.5, 0.3])
    found = tukey_hsd([row, row, row + 0.2])
    assert found == {(0, 1): 1.0, (0, 2): 0.0, (1, 2): 0.0}
    with pytest.raises(ParameterError, match="two systems or more"):
        tukey_hsd([row])


def test_bca_is_scipys_up_to_the_draws() -> None:
    values = np.random.default_rng(7).beta(0.5, 2, 40)
    expected = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=20_000, rng=1).confidence_interval
    found = confidence_interval(values, method="bca")
    assert found.low == pytest.approx(expected.low, abs=0.004)
    assert found.high == pytest.approx(expected.high, abs=0.004)


def test_bca_stays_on_the_scale_and_needs_spread() -> None:
    values = np.array([1.0] * 9 + [0.5])
    assert confidence_interval(values).high > 1  # Student's does not
    found = confidence_interval(values, method="bca")
    assert 0.5 <= found.low <= found.high <= 1.0
    assert confidence_interval([0.3, 0.3, 0.3], method="bca") == (0.3, 0.3)
    assert confidence_interval([0.3], method="bca").low == -np.inf
