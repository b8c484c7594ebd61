"""Intervals of a mean over queries, paired tests, Student's t-test, and warnings about too few queries."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError, Phrase
from rankwell.evaluation.significance.student import quantile, two_sided_p

Values = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """From low to high, both included."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, (int, float)) and self.low <= value <= self.high

    @property
    def half_width(self) -> float:
        """Half of the distance between the ends: the "plus or minus" of a symmetric interval."""
        return (self.high - self.low) / 2


# The interval of a mean over fewer than two queries.
UNBOUNDED = Interval(-math.inf, math.inf)


def moments(values: Values) -> tuple[float, float]:
    """Mean and standard deviation (n - 1 in the denominator), NaN where there are too few values.

    Equal values have a deviation of exactly 0: with a rounding error instead, a test
    would call the smallest difference significant.
    """
    if len(values) == 0:
        return math.nan, math.nan
    if len(values) == 1:
        return float(values[0]), math.nan
    if np.ptp(values) == 0:
        return float(values[0]), 0.0
    return float(values.mean()), float(values.std(ddof=1))


def t_interval(values: Values, level: float = 0.95) -> Interval:
    """Student's interval of the mean: mean ± t(1 - alpha/2, n - 1) * sd / sqrt(n), with alpha = 1 - level.

    Unbounded for fewer than two values; a point where all values are equal.
    """
    check_level(level)
    if len(values) < 2:  # noqa: PLR2004 -- one value has no spread
        return UNBOUNDED
    mean, sd = moments(values)
    half = quantile(1 - (1 - level) / 2, len(values) - 1) * sd / math.sqrt(len(values))
    return Interval(mean - half, mean + half)


def check_level(level: float) -> None:
    """Raise a ParameterError unless the level is between 0 and 1."""
    if not 0 < level < 1:
        raise ParameterError("level", expected="a number between 0 and 1, such as 0.95", found=level)


def checked(name: str, values: npt.ArrayLike) -> Values:
    """Per-query values as an array: one dimension, finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ParameterError(name, expected="one value a query", found=Phrase(f"an array of shape {array.shape}"))
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ParameterError(name, expected="finite values", found=Phrase(f"{array[place]} at place {place}"))
    return array


@dataclass(frozen=True)
class PairedDifference:
    """The difference between two systems on the same queries, and its significance.

    `mean` is the mean of system minus baseline and `p` the two-sided p-value of "there is no difference".
    `effect_size` is Cohen's d_z = mean / sd of the differences: 0 where all are 0, infinite where all are equal and
    not 0, NaN for fewer than two queries. `permutations` and `seed` belong to randomized tests: the
    number of sign patterns or samples, and None for the seed of an exact test.
    """

    test: str
    queries: int
    mean: float
    p: float
    interval: Interval
    level: float
    effect_size: float
    wins: int
    ties: int
    losses: int
    permutations: int | None = None
    seed: int | None = None


class Finding(NamedTuple):
    """The p-value and interval of a test; the rest of a `PairedDifference` is the same for all tests."""

    p: float
    interval: Interval
    permutations: int | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class PairedTest(ABC):
    """A two-sided test of a system against a baseline over the same queries, in the same order.

    Differences of at most `tolerance` are rounding, not wins: they count as ties and as exactly 0, and differences that
    are all within `tolerance` of each other count as equal. Without this, two runs that differ in the last bit of a
    sum could come out as significantly different.
    """

    level: float = 0.95
    tolerance: float = 1e-9

    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_level(self.level)
        if not (self.tolerance >= 0 and math.isfinite(self.tolerance)):
            raise ParameterError("tolerance", expected="a small number, 0 or more", found=self.tolerance)

    def __call__(
        self, values: npt.ArrayLike, baseline: npt.ArrayLike, *, higher_is_better: bool = True
    ) -> PairedDifference:
        """Compare two systems by their values query by query; `higher_is_better` decides what counts as a win."""
        return self.many([(values, baseline)], higher_is_better=higher_is_better)[0]

    def many(
        self, pairs: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]], *, higher_is_better: bool = True
    ) -> list[PairedDifference]:
        """Several comparisons: values and baseline of each. A test that draws may use a sample for all of them."""
        tables = [differences(values, baseline, self.tolerance) for values, baseline in pairs]
        found = zip(tables, self._find_all(tables), strict=True)
        return [self._difference(by_query, finding, higher_is_better=higher_is_better) for by_query, finding in found]

    def _difference(self, by_query: Values, finding: Finding, *, higher_is_better: bool) -> PairedDifference:
        mean, sd = moments(by_query)
        above, below = int((by_query > 0).sum()), int((by_query < 0).sum())
        return PairedDifference(
            test=self.name,
            queries=len(by_query),
            mean=mean,
            p=finding.p,
            interval=finding.interval,
            level=self.level,
            effect_size=_effect_size(mean, sd),
            wins=above if higher_is_better else below,
            ties=len(by_query) - above - below,
            losses=below if higher_is_better else above,
            permutations=finding.permutations,
            seed=finding.seed,
        )

    def _find_all(self, tables: Sequence[Values]) -> list[Finding]:
        return [self._find(by_query) for by_query in tables]

    @abstractmethod
    def _find(self, by_query: Values) -> Finding:
        """The p-value, and the interval of the mean difference, from the differences."""


def differences(values: npt.ArrayLike, baseline: npt.ArrayLike, tolerance: float = 0.0) -> Values:
    """System minus baseline, query by query, without rounding errors (see `PairedTest`)."""
    ours, theirs = checked("values", values), checked("baseline", baseline)
    if len(ours) != len(theirs):
        found = Phrase(f"{len(ours)} and {len(theirs)}")
        raise ParameterError("values, baseline", expected="values of the same queries, one each", found=found)
    by_query = ours - theirs
    by_query[np.abs(by_query) <= tolerance] = 0.0
    if len(ours) and np.ptp(by_query) <= tolerance:
        by_query[:] = np.median(by_query)
    return by_query


def _effect_size(mean: float, sd: float) -> float:
    """Cohen's d_z = mean / sd of the paired differences (Cohen 1988, "Statistical power analysis"; Lakens 2013)."""
    if sd == 0:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / sd


@dataclass(frozen=True, kw_only=True)
class TTest(PairedTest):
    """The paired t-test: t = mean / (sd / sqrt(n)) against Student's distribution with n - 1 degrees of freedom.

    Student (1908), "The probable error of a mean". For IR measures it is as good a choice as any, also where the
    differences are far from normal (Urbano, Lima and Hanjalic, SIGIR 2019).

    Fewer than two queries: p = 1 and an unbounded interval. All differences 0: p = 1. All differences equal and not
    0: p = 0, the limit for a deviation that goes to 0, and the interval is a point.
    """

    name: ClassVar[str] = "t"

    def _find(self, by_query: Values) -> Finding:
        interval = t_interval(by_query, self.level)
        mean, sd = moments(by_query)
        if len(by_query) < 2 or mean == 0:  # noqa: PLR2004 -- one difference has no spread
            return Finding(1.0, interval)
        if sd == 0:
            return Finding(0.0, Interval(mean, mean))
        return Finding(two_sided_p(mean / sd * math.sqrt(len(by_query)), len(by_query) - 1), interval)


FEW = 10
"""Below this, intervals are so wide that only the largest differences show."""


def smallest_p(queries: int) -> float:
    """The smallest p that the randomisation test can give: 2 / 2^n, where one system wins every query."""
    return min(1.0, 2.0 ** (1 - queries))


def too_few_queries(queries: int, *, comparisons: int = 1, alpha: float = 0.05) -> str | None:
    """A warning where there are too few queries for a significant result, else None.

    With `comparisons` the smallest p is corrected for them (Bonferroni; the best of Holm's is the same).
    """
    if queries == 0:
        return "There is no query to compare on."
    noun = "1 query is" if queries == 1 else f"{queries} queries are"
    reachable = min(1.0, smallest_p(queries) * comparisons)
    if reachable >= alpha:
        corrected = f", corrected for {comparisons} comparisons" if comparisons > 1 else ""
        return (
            f"{noun} too few for a verdict: even if one system won every time, "
            f"the randomisation test could not go below p = {reachable:.2g}{corrected}."
        )
    if queries < FEW:
        return (
            f"{noun} few: take differences as hints, since only large and steady ones can show with fewer than {FEW}."
        )
    return None


def detectable_difference(
    values: npt.ArrayLike, baseline: npt.ArrayLike, *, level: float = 0.95, power: float = 0.8
) -> float:
    """The true difference that a t-test on as many queries, of this spread, would find with the given power.

    (t(1 - alpha/2, n - 1) + t(power, n - 1)) * sd / sqrt(n), alpha = 1 - level (Cohen 1988; Sakai, "Statistical
    significance, power, and sample sizes", SIGIR 2016, for IR). A power of one half gives the half width of the
    interval: the smallest mean difference that is significant when it is seen. Infinite for fewer than two queries.
    """
    check_level(level)
    if not 0 < power < 1:
        raise ParameterError("power", expected="a probability between 0 and 1", found=power)
    by_query = differences(values, baseline)
    if len(by_query) < 2:  # noqa: PLR2004 -- one difference has no spread
        return math.inf
    df = len(by_query) - 1
    return (quantile(1 - (1 - level) / 2, df) + quantile(power, df)) * moments(by_query)[1] / math.sqrt(len(by_query))
