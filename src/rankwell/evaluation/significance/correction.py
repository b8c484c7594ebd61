"""Corrections for several comparisons (Bonferroni, Holm, ...), and the marks that show significance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError, Phrase
from rankwell.evaluation.significance.paired import Values


def bonferroni(p_values: Values) -> Values:
    """min(1, m p): the chance of any false finding among the m comparisons stays below alpha (Dunn 1961)."""
    return np.minimum(1.0, p_values * len(p_values))


def holm(p_values: Values) -> Values:
    """With p sorted upward: max over j <= i of min(1, (m - j + 1) p_j).

    Bounds the same error rate as Bonferroni with more power (Holm 1979, "A simple sequentially rejective multiple test
    procedure").
    """
    return _stepwise(p_values, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1)))


def benjamini_hochberg(p_values: Values) -> Values:
    """With p sorted upward: min over j >= i of min(1, m / j p_j).

    Bounds the false discovery rate, which is a weaker guarantee than that of the others
    (Benjamini and Hochberg 1995, "Controlling the false discovery rate").
    """
    return _stepwise(p_values, lambda p: np.minimum.accumulate((p * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1])


def _stepwise(p_values: Values, correct: Callable[[Values], Values]) -> Values:
    """Correct the p-values in their ascending order."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(1.0, correct(p_values[order]))
    return corrected


CORRECTIONS: Mapping[str, Callable[[Values], Values]] = MappingProxyType(
    {
        "benjamini-hochberg": benjamini_hochberg,
        "bonferroni": bonferroni,
        "holm": holm,
        "none": lambda p_values: p_values,
    }
)


def correct(p_values: npt.ArrayLike, correction: str = "holm") -> Values:
    """The p-values of one family of comparisons, corrected for their number, in the order given.

    The result is compared with alpha as a single p-value would be.
    """
    if correction not in CORRECTIONS:
        raise ParameterError("correction", expected=" or ".join(CORRECTIONS), found=correction)
    array = np.array(p_values, dtype=np.float64)
    wrong = ~((array >= 0) & (array <= 1))
    if array.ndim != 1 or wrong.any():
        found = array[wrong].tolist()[0] if wrong.any() else Phrase(f"an array of shape {array.shape}")
        raise ParameterError("p_values", expected="a list of probabilities from 0 to 1", found=found)
    return CORRECTIONS[correction](array)


STAR_LEVELS = (0.05, 0.01, 0.001, 0.0001)
DAGGER_LEVEL = 0.05


def stars(p: float) -> str:
    """One star for p < .05, two for p < .01, three for p < .001, four for p < .0001; none otherwise.

    p = .05 has no star, and NaN has none either.
    """
    return "*" * sum(p < level for level in STAR_LEVELS)


def dagger(p: float) -> str:
    """A dagger for p < .05; nothing otherwise."""
    return "†" if p < DAGGER_LEVEL else ""


class Mark(NamedTuple):
    """A way to mark p-values, and the legend that explains it below a table."""

    of: Callable[[float], str]
    legend: str


MARKS: Mapping[str, Mark] = MappingProxyType(
    {
        "dagger": Mark(dagger, "† p < .05"),
        "none": Mark(lambda _: "", ""),
        "stars": Mark(stars, "* p < .05, ** p < .01, *** p < .001, **** p < .0001"),
    }
)


def mark(name: str) -> Mark:
    """The `Mark` of that name; an error for another name."""
    if name not in MARKS:
        raise ParameterError("marks", expected=" or ".join(MARKS), found=name)
    return MARKS[name]
