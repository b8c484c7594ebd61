"""Student's t distribution: tail probabilities and quantiles, to about 13 digits, however small."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from rankwell.core import ParameterError
from rankwell.evaluate.significance.beta import log_incomplete_beta, log_power_terms

# Beyond this ratio, 1 + r * r is r * r to the last bit, and r * r might not be a float any more.
LARGE_RATIO = 1e9
ACCURATE = 1e-13
MOST_STEPS = 200


def two_sided_p(t: float, df: float) -> float:
    """P(|T| >= |t|) with `df` degrees of freedom: I_x(df/2, 1/2) with x = df / (df + t^2).

    Abramowitz & Stegun 26.7.1. A t of infinity has p = 0, a t of 0 has p = 1.
    """
    _check_degrees(df)
    if math.isnan(t):
        raise ParameterError("t", expected="a number", found=t)
    if t == 0:
        return 1.0
    return 0.0 if math.isinf(t) else math.exp(_log_tails(math.log(abs(t)), df))


@lru_cache(maxsize=4096)
def quantile(p: float, df: float) -> float:
    """The t below which a share p of the distribution lies.

    Solved by Newton's method for log P as a function of s = log t. The density of s is log-concave, so log P is
    concave on both sides: Newton then converges from any start, and the start may be plain.
    """
    _check_degrees(df)
    if not 0 < p < 1:
        raise ParameterError("p", expected="a probability between 0 and 1", found=p)
    tail = min(p, 1 - p)
    # Close to the middle the tail is nearly constant and says little about t; the centre says it all, and vice versa.
    if tail < 0.25:  # noqa: PLR2004 -- the quarter from either end
        s = _solve(_log_tails, math.log(2 * tail), -1, df)
    elif tail < 0.5:  # noqa: PLR2004 -- the middle
        s = _solve(_log_centre, math.log(1 - 2 * tail), +1, df)
    else:
        return 0.0
    return math.copysign(math.exp(s), p - 0.5)


def _solve(log_share: Callable[[float, float], float], target: float, direction: int, df: float) -> float:
    """The s = log t at which the logarithm of this share of the distribution is the target."""
    s = 0.0
    for _ in range(MOST_STEPS):
        share = log_share(s, df)
        # The density of |T| over log t is 2 x^a y^b / B(a, b): dx / ds = -2 x y.
        slope = direction * 2 * math.exp(log_power_terms(df / 2, 0.5, *_logs(s, df)) - share)
        step = (target - share) / slope
        s += step
        if abs(step) <= ACCURATE:
            break
    return s


def _log_tails(s: float, df: float) -> float:
    """The logarithm of P(|T| >= e^s)."""
    log_x, log_y = _logs(s, df)
    return log_incomplete_beta(df / 2, 0.5, log_x, log_y)


def _log_centre(s: float, df: float) -> float:
    """The logarithm of P(|T| <= e^s)."""
    log_x, log_y = _logs(s, df)
    return log_incomplete_beta(0.5, df / 2, log_y, log_x)


def _logs(s: float, df: float) -> tuple[float, float]:
    """The logarithms of x = df / (df + t^2) and y = t^2 / (df + t^2), both exact, for t = e^s."""
    log_ratio = s - 0.5 * math.log(df)
    return _log_share(log_ratio), _log_share(-log_ratio)


def _log_share(log_ratio: float) -> float:
    """log( 1 / (1 + r^2) ) from log r."""
    if log_ratio > math.log(LARGE_RATIO):
        return -2 * log_ratio
    return -math.log1p(math.exp(2 * log_ratio))


def _check_degrees(df: float) -> None:
    if not (df > 0 and math.isfinite(df)):
        raise ParameterError("df", expected="degrees of freedom above 0", found=df)
