"""How long texts are: which lengths occur and how often, which is all that mean, median and histogram need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Lengths:
    """The distinct lengths in ascending order and how many texts have each: small even for millions of texts."""

    values: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, occurrences: Mapping[int, int]) -> Lengths:
        """From a count for each length."""
        values = tuple(sorted(value for value, count in occurrences.items() if count))
        return cls(values, tuple(occurrences[value] for value in values))

    @property
    def count(self) -> int:
        """How many texts there are."""
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        """The mean length; None without a text."""
        if not self.counts:
            return None
        return sum(value * count for value, count in zip(self.values, self.counts, strict=True)) / self.count

    @property
    def median(self) -> float | None:
        """The length in the middle, or the mean of the two that share it; None without a text."""
        if not self.counts:
            return None
        reached = np.cumsum(np.array(self.counts, dtype=np.float64))
        middle = [(self.count - 1) // 2, self.count // 2]
        low, high = np.searchsorted(reached, middle, side="right").tolist()
        return float(self.values[low] + self.values[high]) / 2

    @property
    def largest(self) -> int | None:
        """The length of the longest text; None without a text."""
        return self.values[-1] if self.values else None

    def over(self, limit: int) -> int:
        """How many texts are longer than the limit."""
        return sum(count for value, count in zip(self.values, self.counts, strict=True) if value > limit)

    def percent_over(self, limit: int) -> float | None:
        """The share of texts longer than the limit; None without a text."""
        return 100 * self.over(limit) / self.count if self.counts else None

    def as_dict(self, limit: int | None = None) -> dict[str, Any]:
        """The figures by name, and the lengths themselves for those who draw their own picture."""
        figures: dict[str, Any] = {
            "count": self.count,
            "mean": self.mean,
            "median": self.median,
            "max": self.largest,
        }
        if limit is not None:
            figures |= {"limit": limit, "over_limit": self.over(limit), "percent_over_limit": self.percent_over(limit)}
        return figures | {"lengths": list(self.values), "counts": list(self.counts)}


def crossed(first: Lengths, second: Lengths, extra: int = 0) -> Lengths:
    """The lengths of every text of the first joined with every text of the second, each `extra` longer."""
    if not first.counts or not second.counts:
        return Lengths((), ())
    sums = np.add.outer(np.array(first.values), np.array(second.values)) + extra
    # Python's whole numbers, since a product of two counts of millions times thousands of lengths is exact in them.
    pairs = np.multiply.outer(np.array(first.counts, dtype=object), np.array(second.counts, dtype=object))
    occurrences: dict[int, int] = {}
    for length, count in zip(sums.ravel().tolist(), pairs.ravel().tolist(), strict=True):
        occurrences[length] = occurrences.get(length, 0) + count
    return Lengths.of(occurrences)
