"""The confidence interval of a mean over queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.evaluate.significance.bootstrap import bootstrap_interval
from rankwell.evaluate.significance.interval import Interval, Values, checked, t_interval

INTERVALS: Mapping[str, Callable[[Values, float, int], Interval]] = MappingProxyType(
    {
        "bootstrap": lambda values, level, seed: bootstrap_interval(values, level, seed=seed),
        "t": lambda values, level, _: t_interval(values, level),
    }
)


def confidence_interval(values: npt.ArrayLike, level: float = 0.95, *, method: str = "t", seed: int = 0) -> Interval:
    """The interval in which the mean lies with this confidence, by Student's t or by the bootstrap's percentiles.

    It speaks of the mean over all queries of this kind, as if these were a random sample of them. Unbounded for fewer
    than two values. Of two systems on the same queries compare the interval of their difference (`PairedTest`), not
    two of these: they overlap easily even where the difference is certain.
    """
    if method not in INTERVALS:
        raise ParameterError("method", expected=" or ".join(INTERVALS), found=method)
    return INTERVALS[method](checked("values", values), level, seed)
