"""Are there enough queries to say anything? What no number of decimals can make up for."""

from __future__ import annotations

import math

import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.evaluate.significance.interval import check_level, moments
from rankwell.evaluate.significance.paired import differences
from rankwell.evaluate.significance.student import quantile

FEW = 10
"""Below this, intervals are so wide that only the largest differences show."""


def smallest_p(queries: int) -> float:
    """The smallest p that the randomisation test can give: 2 / 2^n, where one system wins every query."""
    return min(1.0, 2.0 ** (1 - queries))


def too_few_queries(queries: int, *, comparisons: int = 1, alpha: float = 0.05) -> str | None:
    """A sentence for people where the queries are too few for a verdict, None where they will do.

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
    found = differences(values, baseline)
    if len(found) < 2:  # noqa: PLR2004 -- one difference has no spread
        return math.inf
    df = len(found) - 1
    return (quantile(1 - (1 - level) / 2, df) + quantile(power, df)) * moments(found).sd / math.sqrt(len(found))
