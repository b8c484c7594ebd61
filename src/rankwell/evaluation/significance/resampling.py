"""Tests that draw: Fisher's paired randomisation test and the paired bootstrap; tests and intervals by name."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.evaluation.significance import paired
from rankwell.evaluation.significance.paired import Finding, Interval, PairedTest, TTest, Values
from rankwell.evaluation.significance.wilcoxon import Wilcoxon

# Sums and means of the same differences in another order may differ in the last bits; they are still as extreme.
SAME = 1e-12


@dataclass(frozen=True, kw_only=True)
class DrawingTest(PairedTest):
    """A test that draws `permutations` samples by its seed."""

    permutations: int
    seed: int = 0

    drawn: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.permutations < 1:
            expected = f"a number of {self.drawn}, at least 1"
            raise ParameterError("permutations", expected=expected, found=self.permutations)

    def _find_all(self, tables: Sequence[Values]) -> list[Finding]:
        """Each sample is drawn once for all comparisons where that is worth it; sums may differ in their last bits."""
        sizes = {len(by_query) for by_query in tables}
        if len(tables) < SEVERAL or len(sizes) > 1 or max(sizes) * self.permutations < MANY_VALUES:
            return super()._find_all(tables)
        groups = (tables[start : start + TOGETHER] for start in range(0, len(tables), TOGETHER))
        return [finding for group in groups for finding in self._find_together(np.array(group))]

    @abstractmethod
    def _find_together(self, table: Values) -> list[Finding]:
        """The findings of a table with a row of differences for each comparison."""


SEVERAL = 3  # comparisons that share their samples
TOGETHER = 64  # comparisons at once, so that memory does not grow with their number
MANY_VALUES = 10_000_000  # of one comparison; below that it takes a tenth of a second


Patterns = npt.NDArray[np.uint8]

WORD = np.dtype("<u8")
BYTES_A_WORD = 8
BITS_A_WORD = 64
# Bytes of patterns in a block, large enough to make the loop over columns cheap.
BLOCK = 1 << 22
SMALL_BLOCK = 1 << 18  # whose bits, as 64-bit numbers, take 16 MB times eight


def all_patterns(queries: int, block: int = BLOCK) -> Iterator[Patterns]:
    """All sign patterns of `queries` queries (fewer than 64), in blocks; the first flips no sign."""
    rows = max(1, block // BYTES_A_WORD)
    for start in range(0, 1 << queries, rows):
        stop = min(start + rows, 1 << queries)
        yield np.arange(start, stop, dtype=WORD).view(np.uint8).reshape(-1, BYTES_A_WORD)


def random_patterns(queries: int, count: int, seed: int, block: int = BLOCK) -> Iterator[Patterns]:
    """The pattern that flips no sign, then `count` random ones, in blocks.

    Bits are drawn in whole words, so that the patterns do not depend on the size of the blocks.
    """
    words = max(1, -(-queries // BITS_A_WORD))
    used = np.zeros(words * BITS_A_WORD, dtype=np.uint8)
    used[:queries] = 1
    mask = np.packbits(used, bitorder="little")
    generator = np.random.default_rng(seed)
    rows = max(1, block // (words * BYTES_A_WORD))
    yield np.zeros((1, len(mask)), dtype=np.uint8)
    for start in range(0, count, rows):
        drawn = generator.integers(0, 2**64, size=(min(rows, count - start), words), dtype=np.uint64)
        yield drawn.astype(WORD, copy=False).view(np.uint8) & mask


def selected_sums(values: Values, patterns: Patterns) -> Values:
    """For each pattern the sum of the values that it selects.

    Column by column, because the 256 sums of one column stay in the processor's first cache: on 7,000 queries about
    twice as fast as unpacking the bits and multiplying.
    """
    width = -(-len(values) // 8)
    padded = np.zeros(width * 8)
    padded[: len(values)] = values
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little")
    tables = padded.reshape(width, 8) @ bits.T.astype(np.float64)
    sums = np.zeros(len(patterns))
    for table, column in zip(tables, np.ascontiguousarray(patterns.T[:width]), strict=True):
        sums += table.take(column)
    return sums


def selected_counts(patterns: Patterns) -> npt.NDArray[np.int64]:
    """Number of values that each pattern selects."""
    counts: npt.NDArray[np.int64] = np.bitwise_count(patterns).sum(axis=1, dtype=np.int64)
    return counts


@dataclass(frozen=True, kw_only=True)
class Randomization(DrawingTest):
    """The paired randomisation test: under the null hypothesis each difference could have either sign.

    p = share of sign patterns s with |sum s_i d_i| >= |sum d_i|

    Fisher (1935), "The design of experiments"; recommended for IR by Smucker, Allan and Carterette (CIKM 2007). All 2^n
    patterns are used where they are at most `permutations`. Otherwise that many are drawn and the observed one is
    counted with them, p = (b + 1) / (m + 1), so that p is never 0 (Phipson and Smyth 2010).

    The interval holds the differences that the test would not reject. Shifting all d_i by delta, the pattern that flips
    the set T is as extreme as the observed one exactly where the mean of d over T is at most delta (at least, from the
    other side), so its ends are quantiles of the means of subsets (Hartigan, "Using subsample values as typical
    values", 1969). Up to five queries no p below .05 is possible and the interval of 95 % is unbounded; no special case
    is needed for differences that are all equal.
    """

    permutations: int = 100_000

    name: ClassVar[str] = "randomization"
    drawn: ClassVar[str] = "sign patterns"

    def _find(self, by_query: Values) -> Finding:
        exact = len(by_query) <= math.log2(self.permutations)  # all sign patterns are used, and the seed has no effect
        blocks = all_patterns(len(by_query)) if exact else random_patterns(len(by_query), self.permutations, self.seed)
        parts = [(selected_sums(by_query, block), selected_counts(block)) for block in blocks]
        sums, counts = np.concatenate([s for s, _ in parts]), np.concatenate([c for _, c in parts]).astype(float)
        return self._finding(by_query, sums, counts, exact=exact)

    def _find_together(self, table: Values) -> list[Finding]:
        """The bits of the patterns times the table, a block at a time."""
        queries = table.shape[1]
        if queries <= math.log2(self.permutations):
            return [self._find(by_query) for by_query in table]
        sums, counts, columns = [], [], np.ascontiguousarray(table.T)
        for block in random_patterns(queries, self.permutations, self.seed, SMALL_BLOCK):
            bits = np.unpackbits(block, axis=1, count=queries, bitorder="little")
            sums.append(bits.astype(np.float64) @ columns)
            counts.append(selected_counts(block))
        by_run, sizes = np.concatenate(sums).T, np.concatenate(counts).astype(float)
        return [
            self._finding(own, np.array(of_run), sizes, exact=False) for own, of_run in zip(table, by_run, strict=True)
        ]

    def _finding(self, by_query: Values, sums: Values, counts: Values, *, exact: bool) -> Finding:
        total = float(by_query.sum())
        extreme = np.abs(total - 2 * sums) >= abs(total) - SAME * float(np.abs(by_query).sum())
        return Finding(
            p=float(extreme.mean()),
            interval=_typical_values(sums, counts, self.level),
            permutations=len(sums) if exact else self.permutations,
            seed=None if exact else self.seed,
        )


def _typical_values(sums: Values, counts: Values, level: float) -> Interval:
    """The interval between the (alpha / 2)-quantiles of the subsets' means; the empty subset lies beyond both ends."""
    means = np.divide(sums, counts, out=np.full(len(sums), -math.inf), where=counts > 0)
    # A small number is added because 1 - 0.95 is not exactly 0.05.
    place = math.floor((1 - level) / 2 * len(means) + 1e-9)
    low = float(np.partition(means, place)[place])
    means[counts == 0] = math.inf
    high = float(np.partition(means, len(means) - 1 - place)[len(means) - 1 - place])
    return Interval(low, high)


# Number of values drawn at once.
VALUES_AT_ONCE = 1 << 20
SAMPLES = 10_000


@dataclass(frozen=True, kw_only=True)
class Bootstrap(DrawingTest):
    """The shift method: draw queries with replacement, and shift the sample means to a mean difference of 0.

    p = (number of samples with |mean* - mean| >= |mean|, + 1) / (samples + 1)

    Noreen (1989), "Computer-intensive methods for testing hypotheses"; for IR Smucker, Allan and Carterette (CIKM
    2007), who find its p-values a little smaller than those of the other tests. The interval goes from the
    (alpha / 2)- to the (1 - alpha / 2)-quantile of mean* (Efron's percentiles).

    Fewer than two queries: p = 1 and an unbounded interval, because a sample of one query is always that query. All
    differences 0: p = 1. All differences equal and not 0: the smallest p there is, and the interval is a point.
    """

    permutations: int = SAMPLES

    name: ClassVar[str] = "bootstrap"
    drawn: ClassVar[str] = "samples"

    def _find(self, by_query: Values) -> Finding:
        if len(by_query) < 2:  # noqa: PLR2004 -- one difference has no spread
            return Finding(1.0, paired.UNBOUNDED, self.permutations, self.seed)
        return self._finding(by_query, bootstrap_means(by_query, self.permutations, self.seed))

    def _find_together(self, table: Values) -> list[Finding]:
        if table.shape[1] < 2:  # noqa: PLR2004 -- one difference has no spread
            return [self._find(by_query) for by_query in table]
        means = bootstrap_tables(table, self.permutations, self.seed)
        equal = np.ptp(table, axis=1) == 0
        return [
            self._find(by_query) if same else self._finding(by_query, own)
            for by_query, own, same in zip(table, means, equal.tolist(), strict=True)
        ]

    def _finding(self, by_query: Values, means: Values) -> Finding:
        mean, _ = paired.moments(by_query)
        extreme = np.abs(means - mean) >= abs(mean) - SAME * float(np.abs(by_query).mean())
        p = (int(extreme.sum()) + 1) / (self.permutations + 1)
        return Finding(p, _percentiles(means, self.level), self.permutations, self.seed)


def _bootstrap_interval(values: Values, level: float, seed: int) -> Interval:
    """The percentile interval of a mean (Efron and Tibshirani 1993, chapter 13); unbounded for fewer than two values.

    It is too narrow for few values: by about sqrt((n - 1) / n), and by the tails that Student's t has over the normal.
    """
    paired.check_level(level)
    if len(values) < 2:  # noqa: PLR2004 -- one value has no spread
        return paired.UNBOUNDED
    return _percentiles(bootstrap_means(values, SAMPLES, seed), level)


def bootstrap_means(values: Values, samples: int, seed: int, block: int = VALUES_AT_ONCE) -> Values:
    """The means of bootstrap samples, each as large as the values and drawn with replacement, in blocks."""
    if np.ptp(values) == 0:
        return np.full(samples, values[0])
    generator = np.random.default_rng(seed)
    rows = max(1, block // len(values))
    means = np.empty(samples)
    for start in range(0, samples, rows):
        stop = min(start + rows, samples)
        drawn = generator.integers(0, len(values), size=(stop - start, len(values)), dtype=np.int32)
        means[start:stop] = values.take(drawn, mode="clip").mean(axis=1)
    return means


def bootstrap_tables(table: Values, samples: int, seed: int, block: int = VALUES_AT_ONCE) -> Values:
    """The same for several rows of values, from the same samples: how often each value is drawn, times the values."""
    size, columns = table.shape[1], np.ascontiguousarray(table.T)
    generator = np.random.default_rng(seed)
    rows = max(1, block // size)
    means = np.empty((samples, len(table)))
    for start in range(0, samples, rows):
        count = min(rows, samples - start)
        drawn = generator.integers(0, size, size=(count, size), dtype=np.int32)
        drawn += np.arange(0, count * size, size, dtype=np.int32)[:, np.newaxis]
        times = np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size)
        means[start : start + count] = times.astype(np.float64) @ columns / size
    return np.ascontiguousarray(means.T)


def _percentiles(means: Values, level: float) -> Interval:
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def _bca_interval(values: Values, level: float, seed: int) -> Interval:
    """The bias-corrected and accelerated interval of a mean (Efron, "Better bootstrap confidence intervals", 1987).

    Percentiles of the bootstrap means, at Phi(z0 + (z0 + z) / (1 - a (z0 + z))) for z = -+ Phi^-1((1 + level) / 2).
    z0 says how far the median of these means is from the mean, and a = sum d^3 / (6 (sum d^2)^1.5), with d the values
    less their mean, how skew the values are. It never leaves the range of the values. Unbounded for fewer than two.
    """
    paired.check_level(level)
    if len(values) < 2:  # noqa: PLR2004 -- one value has no spread
        return paired.UNBOUNDED
    mean, sd = paired.moments(values)
    if sd == 0:
        return Interval(mean, mean)
    means = bootstrap_means(values, SAMPLES, seed)
    close = SAME * float(np.abs(values).max())
    below = float((means < mean - close).mean() + (np.abs(means - mean) <= close).mean() / 2)
    normal = NormalDist()
    bias = normal.inv_cdf(min(max(below, 1 / SAMPLES), 1 - 1 / SAMPLES))
    away = values - mean
    skew = float((away**3).sum()) / (6 * float((away**2).sum()) ** 1.5)
    outer = (normal.inv_cdf((1 - level) / 2), normal.inv_cdf((1 + level) / 2))
    ends = [normal.cdf(bias + (bias + z) / (1 - skew * (bias + z))) for z in outer]
    low, high = np.quantile(means, sorted(ends))
    return Interval(float(low), float(high))


INTERVALS: Mapping[str, Callable[[Values, float, int], Interval]] = MappingProxyType(
    {
        "bca": _bca_interval,
        "bootstrap": _bootstrap_interval,
        "t": lambda values, level, _: paired.t_interval(values, level),
    }
)


def confidence_interval(values: npt.ArrayLike, level: float = 0.95, *, method: str = "t", seed: int = 0) -> Interval:
    """Confidence interval of a mean, by Student's t, by bootstrap percentiles, or by BCa, which follows the skewness.

    It speaks of the mean over all queries of this kind, as if these were a random sample of them. Unbounded for fewer
    than two values. Of two systems on the same queries compare the interval of their difference (`PairedTest`), not
    two of these: they may overlap even where the difference is significant.
    """
    if method not in INTERVALS:
        raise ParameterError("method", expected=" or ".join(INTERVALS), found=method)
    return INTERVALS[method](paired.checked("values", values), level, seed)


TESTS: Mapping[str, type[PairedTest]] = MappingProxyType(
    {test.name: test for test in (TTest, Randomization, Bootstrap, Wilcoxon)}
)


def paired_test(name: str, **parameters: Any) -> PairedTest:
    """The test of that name with these parameters (`level`, `tolerance`; `permutations` and `seed` where it draws)."""
    if name not in TESTS:
        raise ParameterError("test", expected=" or ".join(TESTS), found=name)
    return TESTS[name](**parameters)


def seeded_test(name: str, seed: int) -> PairedTest:
    """The test of that name, with the seed where it draws."""
    return paired_test(name, **({"seed": seed} if issubclass(TESTS.get(name, TTest), DrawingTest) else {}))
