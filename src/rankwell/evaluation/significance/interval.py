"""Confidence intervals of a mean over queries."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.core.errors import Phrase
from rankwell.evaluation.significance.student import quantile

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


class Moments(NamedTuple):
    """Mean and standard deviation (n - 1 in the denominator)."""

    mean: float
    sd: float


def moments(values: Values) -> Moments:
    """Mean and standard deviation, NaN where there are too few values.

    Equal values have a deviation of exactly 0: with a rounding error instead, a test
    would call the smallest difference significant.
    """
    if len(values) == 0:
        return Moments(math.nan, math.nan)
    if len(values) == 1:
        return Moments(float(values[0]), math.nan)
    if np.ptp(values) == 0:
        return Moments(float(values[0]), 0.0)
    return Moments(float(values.mean()), float(values.std(ddof=1)))


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
    """Raise an error unless the level is between 0 and 1."""
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
