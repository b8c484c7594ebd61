"""Corrections for many comparisons: the more one looks for differences, the more are found by chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.core.errors import Phrase
from rankwell.evaluate.significance.interval import Values


def uncorrected(p_values: Values) -> Values:
    """The p-values as they are."""
    return p_values


def bonferroni(p_values: Values) -> Values:
    """min(1, m p): the chance of any false finding among the m comparisons stays below alpha (Dunn 1961)."""
    return np.minimum(1.0, p_values * len(p_values))


def holm(p_values: Values) -> Values:
    """With p sorted upward: max over j <= i of min(1, (m - j + 1) p_j).

    Keeps Bonferroni's promise and finds more (Holm 1979, "A simple sequentially rejective multiple test procedure").
    """
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected


def benjamini_hochberg(p_values: Values) -> Values:
    """With p sorted upward: min over j >= i of min(1, m / j p_j).

    Bounds the expected share of false findings among the findings, which is a weaker promise than that of the others
    (Benjamini and Hochberg 1995, "Controlling the false discovery rate").
    """
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * len(p_values) / np.arange(1, len(p_values) + 1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1])
    return corrected


CORRECTIONS: Mapping[str, Callable[[Values], Values]] = MappingProxyType(
    {
        "benjamini-hochberg": benjamini_hochberg,
        "bonferroni": bonferroni,
        "holm": holm,
        "none": uncorrected,
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
