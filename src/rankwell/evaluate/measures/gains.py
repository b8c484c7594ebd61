"""The three forms of discounted cumulative gain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from rankwell.evaluate.pool import Values


@dataclass(frozen=True)
class Form:
    """What a document of a grade is worth, and by what it is divided at a rank."""

    gain: Callable[[npt.ArrayLike], Values]
    discount: Callable[[npt.ArrayLike], Values]

    def worth(self, grade: npt.ArrayLike, rank: npt.ArrayLike) -> Values:
        """Discounted gains. A grade below 0 is worth nothing, as in trec_eval."""
        return self.gain(np.maximum(grade, 0)) / self.discount(rank)


def linear(grade: npt.ArrayLike) -> Values:
    """The grade itself."""
    return np.asarray(grade, dtype=np.float64)


def exponential(grade: npt.ArrayLike) -> Values:
    """2^grade - 1: each grade is worth about twice the one below."""
    return np.exp2(linear(grade)) - 1


def from_the_first(rank: npt.ArrayLike) -> Values:
    """log2(i + 1): every rank after the first costs."""
    return np.log2(linear(rank) + 1)


def from_the_third(rank: npt.ArrayLike) -> Values:
    """log2(i), but 1 for the first rank: the first two are worth the same."""
    return np.log2(np.maximum(linear(rank), 2))


FORMS = MappingProxyType(
    {
        "log2": Form(linear, from_the_first),
        "exp-log2": Form(exponential, from_the_first),
        "original": Form(linear, from_the_third),
    }
)
