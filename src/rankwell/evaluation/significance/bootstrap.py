"""The paired bootstrap test, bootstrap intervals, and the confidence interval of a mean over queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.evaluation.significance.interval import (
    UNBOUNDED,
    Interval,
    Values,
    check_level,
    checked,
    moments,
    t_interval,
)
from rankwell.evaluation.significance.paired import Finding, PairedTest

# Number of values drawn at once.
BLOCK = 1 << 20
SAME_MEAN = 1e-12
SAMPLES = 10_000


@dataclass(frozen=True, kw_only=True)
class Bootstrap(PairedTest):
    """The shift method: draw queries with replacement, and shift the sample means to a mean difference of 0.

    p = (number of samples with |mean* - mean| >= |mean|, + 1) / (samples + 1)

    Noreen (1989), "Computer-intensive methods for testing hypotheses"; for IR Smucker, Allan and Carterette (CIKM
    2007), who find its p-values a little smaller than those of the other tests. The interval goes from the
    (alpha / 2)- to the (1 - alpha / 2)-quantile of mean* (Efron's percentiles).

    Fewer than two queries: p = 1 and an unbounded interval, because a sample of one query is always that query. All
    differences 0: p = 1. All differences equal and not 0: the smallest p there is, and the interval is a point.
    """

    permutations: int = SAMPLES
    seed: int = 0

    name: ClassVar[str] = "bootstrap"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.permutations < 1:
            raise ParameterError("permutations", expected="a number of samples, at least 1", found=self.permutations)

    def find(self, found: Values) -> Finding:
        """The share of shifted samples that are as extreme, and the percentiles of the samples."""
        if len(found) < 2:  # noqa: PLR2004 -- one difference has no spread
            return Finding(1.0, UNBOUNDED, self.permutations, self.seed)
        means = bootstrap_means(found, self.permutations, self.seed)
        mean = moments(found).mean
        extreme = np.abs(means - mean) >= abs(mean) - SAME_MEAN * float(np.abs(found).mean())
        p = (int(extreme.sum()) + 1) / (self.permutations + 1)
        return Finding(p, _percentiles(means, self.level), self.permutations, self.seed)


def bootstrap_interval(values: Values, level: float = 0.95, *, samples: int = SAMPLES, seed: int = 0) -> Interval:
    """The percentile interval of a mean (Efron and Tibshirani 1993, chapter 13); unbounded for fewer than two values.

    It is too narrow for few values: by about sqrt((n - 1) / n), and by the tails that Student's t has over the normal.
    """
    check_level(level)
    if len(values) < 2:  # noqa: PLR2004 -- one value has no spread
        return UNBOUNDED
    return _percentiles(bootstrap_means(values, samples, seed), level)


def bootstrap_means(values: Values, samples: int, seed: int, block: int = BLOCK) -> Values:
    """The means of bootstrap samples, each as large as the values and drawn with replacement, in blocks."""
    if np.ptp(values) == 0:
        return np.full(samples, values[0])
    generator = np.random.default_rng(seed)
    rows = max(1, block // len(values))
    means = np.empty(samples)
    for start in range(0, samples, rows):
        stop = min(start + rows, samples)
        drawn = generator.integers(0, len(values), size=(stop - start, len(values)), dtype=np.int32)
        means[start:stop] = values[drawn].mean(axis=1)
    return means


def _percentiles(means: Values, level: float) -> Interval:
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


INTERVALS: Mapping[str, Callable[[Values, float, int], Interval]] = MappingProxyType(
    {
        "bootstrap": lambda values, level, seed: bootstrap_interval(values, level, seed=seed),
        "t": lambda values, level, _: t_interval(values, level),
    }
)


def confidence_interval(values: npt.ArrayLike, level: float = 0.95, *, method: str = "t", seed: int = 0) -> Interval:
    """Confidence interval of a mean, by Student's t or by bootstrap percentiles.

    It speaks of the mean over all queries of this kind, as if these were a random sample of them. Unbounded for fewer
    than two values. Of two systems on the same queries compare the interval of their difference (`PairedTest`), not
    two of these: they may overlap even where the difference is significant.
    """
    if method not in INTERVALS:
        raise ParameterError("method", expected=" or ".join(INTERVALS), found=method)
    return INTERVALS[method](checked("values", values), level, seed)
