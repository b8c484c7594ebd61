"""Krippendorff's alpha: how far people agree, whatever their number, with missing answers and ordered grades."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from rankwell.assess.ratings import Ratings
from rankwell.core import ParameterError
from rankwell.evaluate.significance import Interval

Matrix = npt.NDArray[np.float64]

SAMPLES = 2000


def krippendorff_alpha(ratings: Ratings, level: str = "nominal") -> float:
    """Alpha = 1 - observed disagreement / disagreement expected by chance.

    Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), over the table of coincidences: the pairs of
    grades that meet on a passage, each passage's pairs weighted by 1 / (its grades - 1). A passage with one grade has
    no pair and does not count.

        alpha = 1 - (n - 1) * sum_ck o_ck d(c, k) / sum_ck n_c n_k d(c, k)

    `level` says how far apart two grades are (`DISTANCES`): nominal, any two as far as any other; ordinal, by the
    number of grades given in between; interval, by their squared difference.

    Not a number where all grades that meet are equal, since chance would agree too, and where none meet.
    """
    if level not in DISTANCES:
        raise ParameterError("level", expected=" or ".join(DISTANCES), found=level)
    return float(_alpha(_coincidences(ratings.counts), ratings.values, level))


def alpha_interval(
    ratings: Ratings, level: str = "nominal", *, confidence: float = 0.95, samples: int = SAMPLES, seed: int = 0
) -> Interval | None:
    """Between which values alpha lies, by the bootstrap's percentiles over queries; None where that cannot be said.

    Queries are drawn, not passages: what people think of a query shows in all of its passages, and an interval which
    takes these for independent would be too narrow. There is none for fewer than two queries on which people could
    disagree. Samples in which all grades are equal have no alpha and are left out.
    """
    at = np.flatnonzero(np.diff(ratings.query, prepend=-1))
    tables = np.array([_coincidences(part) for part in np.split(ratings.counts, at[1:])])
    tables = tables[tables.sum(axis=(1, 2)) > 0] if len(at) else tables
    if len(tables) < 2:  # noqa: PLR2004 -- one query has no spread
        return None
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(len(tables), np.full(len(tables), 1 / len(tables)), size=samples)
    alphas = _alpha(np.tensordot(drawn.astype(np.float64), tables, axes=1), ratings.values, level)
    alphas = alphas[np.isfinite(alphas)]
    if not len(alphas):
        return None
    low, high = np.quantile(alphas, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def _coincidences(counts: Matrix) -> Matrix:
    """How often each two values meet: o_ck = sum over passages of n_c (n_k - [c = k]) / (n - 1)."""
    graded = counts.sum(axis=1)
    counts, graded = counts[graded > 1], graded[graded > 1]
    weighted = counts / (graded[:, None] - 1)
    found: Matrix = weighted.T @ counts - np.diag(weighted.sum(axis=0))
    return found


def _alpha(coincidences: Matrix, values: Sequence[int], level: str) -> Matrix:
    """Alpha of one table of coincidences, or of many at once (the last two axes are a table's)."""
    totals = coincidences.sum(axis=-1)
    distances = DISTANCES[level](totals, np.asarray(values, dtype=np.float64))
    observed = (coincidences * distances).sum(axis=(-2, -1))
    expected = (totals[..., :, None] * totals[..., None, :] * distances).sum(axis=(-2, -1))
    differ = (totals > 0).sum(axis=-1) > 1
    share = (totals.sum(axis=-1) - 1) * observed / np.where(differ, expected, 1.0)
    found: Matrix = np.where(differ, 1 - share, np.nan)
    return found


def _nominal(totals: Matrix, values: Matrix) -> Matrix:  # noqa: ARG001 -- as the others
    return 1 - np.eye(len(values))


def _ordinal(totals: Matrix, values: Matrix) -> Matrix:  # noqa: ARG001 -- as the others
    """The square of n_c / 2 + all between + n_k / 2, which is the distance of the values' mean ranks."""
    ranks = np.cumsum(totals, axis=-1) - totals / 2
    return _squared(ranks)


def _interval(totals: Matrix, values: Matrix) -> Matrix:  # noqa: ARG001 -- as the others
    return _squared(values)


def _squared(places: Matrix) -> Matrix:
    found: Matrix = (places[..., :, None] - places[..., None, :]) ** 2
    return found


DISTANCES: MappingProxyType[str, Callable[[Matrix, Matrix], Matrix]] = MappingProxyType(
    {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}
)
