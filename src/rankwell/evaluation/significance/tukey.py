"""Tukey's honestly significant differences: all pairs of several systems on the same queries."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError, Phrase
from rankwell.evaluation.significance.paired import Values

S_NODES, Z_NODES = 96, 160  # of the Gauss-Legendre rules
FAR = 9.0  # standard deviations beyond which a normal density counts as 0
SAME = 1e-12

Pairs = dict[tuple[int, int], float]


def tukey_hsd(values: npt.ArrayLike) -> Pairs:
    """The p-value of each pair (i, j) of systems, i < j, corrected for all pairs; `values` has a row for each system.

    q = |mean_i - mean_j| / sqrt(MS_E / n), against the studentized range of k systems with (k - 1)(n - 1) degrees of
    freedom. MS_E is the error of the two-way layout, systems by queries (Tukey 1953; for IR Carterette, "Multiple
    testing in statistical analysis of systems-based information retrieval experiments", TOIS 2012).

    It assumes that the errors of all systems have one variance. Where all differences are the same on every query, p is
    0 for systems that differ and 1 for others.
    """
    ranges, degrees = studentized(values)
    systems = len(np.asarray(values))
    return {pair: range_tail(q, systems, degrees) for pair, q in ranges.items()}


def studentized(values: npt.ArrayLike) -> tuple[Pairs, int]:
    """The studentized distance q of each pair of systems, and the degrees of freedom of the error."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():  # noqa: PLR2004 -- one has no spread
        expected = "finite values of two systems or more on two queries or more"
        raise ParameterError("values", expected=expected, found=Phrase(f"an array of shape {table.shape}"))
    systems, queries = table.shape
    means = table.mean(axis=1)
    rest = table - means[:, None] - table.mean(axis=0)[None, :] + table.mean()
    degrees = (systems - 1) * (queries - 1)
    scale = math.sqrt(float((rest**2).sum()) / degrees / queries)
    negligible = SAME * max(1.0, float(np.abs(table).max()))
    pairs = {}
    for first, second in combinations(range(systems), 2):
        distance = abs(float(means[first] - means[second]))
        pairs[first, second] = 0.0 if distance <= negligible else distance / scale if scale > negligible else math.inf
    return pairs, degrees


def range_tail(q: float, systems: int, degrees: float) -> float:
    """P(Q > q) for the studentized range of `systems` normal means with these degrees of freedom.

    P(Q <= q) = integral over s of f(s) R(q s), with s the root of a chi square over its degrees of freedom and
    R(w) = k * integral of phi(z) (Phi(z) - Phi(z - w))^(k - 1) dz, the distribution of the range of k standard normals.
    """
    if q <= 0 or math.isinf(q):
        return 1.0 if q <= 0 else 0.0
    spread = FAR / math.sqrt(2 * degrees)
    s, weights = _legendre(S_NODES)
    low, high = max(0.0, 1 - spread), 1 + spread + FAR / degrees
    s = low + (high - low) * (s + 1) / 2
    half = degrees / 2
    with np.errstate(divide="ignore"):
        log_density = math.log(2) + half * math.log(half) - math.lgamma(half) + (degrees - 1) * np.log(s) - half * s * s
    density = np.exp(log_density) * weights * (high - low) / 2
    tails = 1 - _range_distribution(q * s, systems)
    return float(min(1.0, max(0.0, (density * tails).sum())))


def _range_distribution(width: Values, systems: int) -> Values:
    """P(range of `systems` standard normals <= width)."""
    z, weights = _legendre(Z_NODES)
    z = FAR * z
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * weights * FAR
    inside = _normal(z)[None, :] - _normal(z[None, :] - width[:, None])
    result: Values = systems * (inside ** (systems - 1) * density).sum(axis=1)
    return result


def _normal(x: Values) -> Values:
    """The standard normal distribution function."""
    flat = [0.5 * math.erfc(-value / math.sqrt(2)) for value in x.ravel().tolist()]
    return np.array(flat).reshape(x.shape)


@lru_cache(maxsize=8)
def _legendre(nodes: int) -> tuple[Values, Values]:
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return points, weights
