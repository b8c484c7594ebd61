"""Marks beside a figure that say how sure a difference is: stars or a dagger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from rankwell.core import ParameterError

STAR_LEVELS = (0.05, 0.01, 0.001, 0.0001)
DAGGER_LEVEL = 0.05


def stars(p: float) -> str:
    """One star for p < .05, two for p < .01, three for p < .001, four for p < .0001; none otherwise.

    Below, not at: p = .05 has no star. A p that is not a number has none either.
    """
    return "*" * sum(p < level for level in STAR_LEVELS)


def dagger(p: float) -> str:
    """A dagger for p < .05; nothing otherwise."""
    return "†" if p < DAGGER_LEVEL else ""


def unmarked(p: float) -> str:  # noqa: ARG001 -- a mark takes a p-value
    """Nothing, whatever the p-value."""
    return ""


class Mark(NamedTuple):
    """A way to mark p-values, and the legend that explains it below a table."""

    of: Callable[[float], str]
    legend: str


MARKS: Mapping[str, Mark] = MappingProxyType(
    {
        "dagger": Mark(dagger, "† p < .05"),
        "none": Mark(unmarked, ""),
        "stars": Mark(stars, "* p < .05, ** p < .01, *** p < .001, **** p < .0001"),
    }
)


def mark(name: str) -> Mark:
    """The way to mark p-values of that name."""
    if name not in MARKS:
        raise ParameterError("marks", expected=" or ".join(MARKS), found=name)
    return MARKS[name]
