"""The regularised incomplete beta function, in logarithms, so that tails of 1e-300 keep their digits.

    I_x(a, b) = 1 / B(a, b) * integral from 0 to x of t^(a-1) (1-t)^(b-1) dt

Written here because Student's t needs it and scipy is too large a dependency for one function.
"""

from __future__ import annotations

import math

from rankwell.core import ParameterError

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
STIRLING_FROM = 10.0
# B_2k / (2k (2k-1)): the coefficients of 1/z, 1/z^3, ... in Stirling's series (Abramowitz & Stegun 6.1.41).
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
CONVERGED = 4e-16
MOST_STEPS = 100_000


def incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) for a, b > 0 and x from 0 to 1."""
    if not (a > 0 and b > 0):
        raise ParameterError("a, b", expected="two numbers above 0", found=(a, b))
    if not 0 <= x <= 1:
        raise ParameterError("x", expected="a number from 0 to 1", found=x)
    if x in {0, 1}:
        return float(x)
    return math.exp(log_incomplete_beta(a, b, math.log(x), math.log1p(-x)))


def log_incomplete_beta(a: float, b: float, log_x: float, log_y: float) -> float:
    """The logarithm of I_x(a, b), from log x and log y, where y = 1 - x.

    Both are asked for because a caller often knows both to full precision, and 1 - x would lose one of them. The
    continued fraction converges fast left of the mean; right of it, I_x(a, b) = 1 - I_y(b, a) takes us there.
    """
    x, y = math.exp(log_x), math.exp(log_y)
    if x <= (a + 1) / (a + b + 2):
        return log_power_terms(a, b, log_x, log_y) + math.log(_continued_fraction(a, b, x, y))
    complement = math.exp(log_power_terms(b, a, log_y, log_x)) * _continued_fraction(b, a, y, x)
    return math.log1p(-complement)


def log_power_terms(a: float, b: float, log_x: float, log_y: float) -> float:
    """log( x^a y^b / B(a, b) ), without the cancellation between large log-gammas.

    With Stirling's Gamma(z) = sqrt(2 pi / z) (z / e)^z exp(c(z)) the large parts of B(a, b) go into the powers:
    x^a y^b / B(a, b) = (x (a+b) / a)^a (y (a+b) / b)^b sqrt(a b / (2 pi (a+b))) exp(c(a+b) - c(a) - c(b)).
    """
    powers = a * (log_x + math.log1p(b / a)) + b * (log_y + math.log1p(a / b))
    root = 0.5 * (math.log(a) - math.log1p(a / b)) - HALF_LOG_TWO_PI
    return powers + root + _stirling_rest(a + b) - _stirling_rest(a) - _stirling_rest(b)


def _stirling_rest(z: float) -> float:
    """c(z) = log Gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2): by its series where log-gamma is large."""
    if z < STIRLING_FROM:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + HALF_LOG_TWO_PI)
    inverse_square = 1 / (z * z)
    rest = 0.0
    for coefficient in reversed(STIRLING):
        rest = rest * inverse_square + coefficient
    return rest / z


def _continued_fraction(a: float, b: float, x: float, y: float) -> float:
    """I_x(a, b) B(a, b) / (x^a y^b) as a continued fraction, by Lentz's method, for x left of the mean.

    The form of DiDonato and Morris (1992, "Algorithm 708", ACM TOMS 18), which has y where others have 1 - x: close to
    x = 1 this saves three digits. It takes O(sqrt(max(a, b))) steps; Lentz as modified by Thompson and Barnett (1986).
    """
    lead = a * y - b * x + 1
    fraction = numerator = a / (a + 1) * lead
    denominator = 0.0
    for m in range(1, MOST_STEPS):
        odd = a + 2 * m - 1
        over = (a + m - 1) * (a + b + m - 1) * m * (b - m) * (x / odd) ** 2
        under = m + m * (b - m) * x / odd + (a + m) / (odd + 2) * (lead + m * (1 + y))
        denominator = 1 / (under + over * denominator)
        numerator = under + over / numerator
        step = numerator * denominator
        fraction *= step
        if abs(step - 1) <= CONVERGED:
            break
    return 1 / fraction
