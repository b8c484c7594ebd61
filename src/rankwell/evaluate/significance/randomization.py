"""Fisher's paired randomisation test."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwell.core import ParameterError
from rankwell.evaluate.significance.interval import Interval, Values
from rankwell.evaluate.significance.paired import Finding, PairedTest
from rankwell.evaluate.significance.sign_flips import (
    Patterns,
    all_patterns,
    random_patterns,
    selected_counts,
    selected_sums,
)

# Sums of the same differences in another order may differ in the last bits; they are still as extreme.
SAME_SUM = 1e-12


@dataclass(frozen=True, kw_only=True)
class Randomization(PairedTest):
    """The paired randomisation test: were the two systems the same, each difference could as well have the other sign.

    p = share of sign patterns s with |sum s_i d_i| >= |sum d_i|

    Fisher (1935), "The design of experiments"; recommended for IR by Smucker, Allan and Carterette (CIKM 2007). All 2^n
    patterns are looked at where they are at most `permutations`. Otherwise so many are drawn and the observed one is
    counted with them, p = (b + 1) / (m + 1), which never claims more than was drawn (Phipson and Smyth 2010).

    The interval holds the differences that the test would not reject. Shifting all d_i by delta, the pattern that flips
    the set T is as extreme as the observed one exactly where the mean of d over T is at most delta (at least, from the
    other side), so its ends are quantiles of the means of subsets (Hartigan, "Using subsample values as typical
    values", 1969). Up to five queries no p below .05 is possible and the interval of 95 % is unbounded; no special case
    is needed for differences that are all equal.
    """

    permutations: int = 100_000
    seed: int = 0

    name: ClassVar[str] = "randomization"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.permutations < 1:
            raise ParameterError(
                "permutations", expected="a number of sign patterns, at least 1", found=self.permutations
            )

    def is_exact(self, queries: int) -> bool:
        """Whether all sign patterns of so many queries are looked at, so that no seed matters."""
        return queries <= math.log2(self.permutations)

    def find(self, found: Values) -> Finding:
        """The share of patterns that are as extreme, and the typical values of the mean."""
        exact = self.is_exact(len(found))
        blocks = all_patterns(len(found)) if exact else random_patterns(len(found), self.permutations, self.seed)
        sums, counts = _selections(found, blocks)
        total = float(found.sum())
        extreme = np.abs(total - 2 * sums) >= abs(total) - SAME_SUM * float(np.abs(found).sum())
        return Finding(
            p=float(extreme.mean()),
            interval=typical_values(sums, counts, self.level),
            permutations=len(sums) if exact else self.permutations,
            seed=None if exact else self.seed,
        )


def typical_values(sums: Values, counts: Values, level: float) -> Interval:
    """The interval between the (alpha / 2)-quantiles of the subsets' means; the empty subset lies beyond both ends."""
    means = np.divide(sums, counts, out=np.full(len(sums), -math.inf), where=counts > 0)
    # A speck is added because 1 - 0.95 is not quite 0.05.
    place = math.floor((1 - level) / 2 * len(means) + 1e-9)
    low = float(np.partition(means, place)[place])
    means[counts == 0] = math.inf
    high = float(np.partition(means, len(means) - 1 - place)[len(means) - 1 - place])
    return Interval(low, high)


def _selections(found: Values, blocks: Iterator[Patterns]) -> tuple[Values, Values]:
    """Of every pattern the sum and the number of the differences that it flips."""
    parts = [(selected_sums(found, block), selected_counts(block)) for block in blocks]
    return np.concatenate([sums for sums, _ in parts]), np.concatenate([counts for _, counts in parts]).astype(float)
