"""Wilcoxon's signed-rank test: exact for up to 50 differences, ties included."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from rankwell.evaluation.significance.paired import Finding, PairedTest, Values, t_interval

EXACT = 50  # differences up to which all sign patterns are counted


@dataclass(frozen=True, kw_only=True)
class Wilcoxon(PairedTest):
    """Wilcoxon's signed-rank test: the ranks of |d_i|, summed over the positive differences.

    W = sum over d_i > 0 of rank(|d_i|);  p = share of sign patterns with |W* - E W| >= |W - E W|

    Wilcoxon (1945), "Individual comparisons by ranking methods". Differences of 0 are left out, as he did; equal ones
    share their mean rank. Up to 50 differences all patterns are counted, beyond that the normal approximation is taken,
    with the variance sum of rank^2 / 4.

    The null hypothesis is that differences lie symmetrically around 0. It is about ranks, not about the mean: a few
    large differences count little, so the sign of the mean and the verdict may disagree. The interval is Student's, of
    the mean.
    """

    name: ClassVar[str] = "wilcoxon"

    def _find(self, by_query: Values) -> Finding:
        interval = t_interval(by_query, self.level)
        there = by_query[by_query != 0]
        if not len(there):
            return Finding(1.0, interval)
        doubled = doubled_ranks(np.abs(there))
        total, above = int(doubled.sum()), int(doubled[there > 0].sum())
        distance = abs(2 * above - total)  # of W from its mean, four times
        if len(there) > EXACT:
            spread = math.sqrt(float((doubled.astype(float) ** 2).sum()))
            return Finding(min(1.0, 2 * NormalDist().cdf(-distance / spread)), interval)
        counts = subset_counts(doubled)
        far = np.abs(2 * np.arange(total + 1) - total) >= distance
        return Finding(min(1.0, float(counts[far].sum() / counts.sum())), interval)


def doubled_ranks(values: Values) -> np.ndarray:
    """Twice the rank of each value, from the smallest; equal values share their mean rank, so twice it is whole."""
    ordered = np.sort(values)
    first, last = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    doubled: np.ndarray = first + last + 1
    return doubled


def subset_counts(weights: np.ndarray) -> Values:
    """For each number up to the sum of the weights, the number of subsets with this sum (2^50 is exact in a float)."""
    counts = np.zeros(int(weights.sum()) + 1)
    counts[0] = 1.0
    for weight in weights.tolist():
        counts[weight:] += counts[: len(counts) - weight].copy()
    return counts
