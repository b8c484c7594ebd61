"""Facets: how the values of a metadata column spread over some documents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwell.index.columns import Column, NumberColumn, TextColumn
from rankwell.index.layout import Array

FEW = 6  # different numbers that are still a choice (a grade, yes or no); more are a range
BARS = 24


@dataclass(frozen=True)
class ValueFacet:
    """The commonest values, the most common first (equal ones in their own order), and how many documents have each."""

    counts: tuple[tuple[str, int], ...]
    others: int  # documents with a value that is not listed
    missing: int  # documents without any


@dataclass(frozen=True)
class RangeFacet:
    """The numbers from the lowest to the highest (of all documents), and how many of these are in each equal step.

    Whole numbers have steps of a whole width, so that a year is never cut in two; the last step may reach beyond the
    highest number.
    """

    lowest: float
    highest: float
    width: float
    bars: tuple[int, ...]
    missing: int

    @property
    def whole(self) -> bool:
        """Whether the numbers are whole ones (years)."""
        return all(number.is_integer() for number in (self.lowest, self.highest, self.width))


Facet = ValueFacet | RangeFacet


def facet_of(column: Column, among: Array, most: int = 10) -> Facet:
    """The facet of a column over the documents of a mask. Which kind it is depends on the column alone."""
    if isinstance(column, TextColumn):
        return _values(dict(column.counts(among)), most, int((column.codes[among] < 0).sum()))
    numbers = column.numbers[np.isfinite(column.numbers)]
    chosen = column.numbers[among]
    missing = int(np.isnan(chosen).sum())
    if len(numbers) == 0 or _few(numbers):
        counts = {_written(value): count for value, count in column.counts(among).items()}
        return _values(counts, most, missing)
    lowest, highest = float(numbers.min()), float(numbers.max())
    whole = bool((numbers == np.floor(numbers)).all())
    width = _width(lowest, highest, whole=whole)
    inside = chosen[np.isfinite(chosen)]
    if not 0 < width < math.inf:  # too near to each other, or too far apart, for steps between them
        return RangeFacet(lowest, highest, width, (len(inside),), missing)
    steps = min(int((highest - lowest) // width) + 1, BARS)
    places = np.minimum((inside - lowest) // width, steps - 1).astype(np.int64)
    return RangeFacet(lowest, highest, width, tuple(np.bincount(places, minlength=steps).tolist()), missing)


def facet_of_counts(counts: Mapping[Any, tuple[int, int]], missing: int, most: int = 10) -> Facet:
    """The same from the column's values, each with how many documents have it and how many of these do.

    For columns that nobody holds in memory.
    """
    chosen = {value: own for value, (_, own) in counts.items() if own}
    if any(isinstance(value, str) for value in counts):
        return _values(chosen, most, missing)
    numbers = np.array([value for value in counts if math.isfinite(value)])
    if len(numbers) == 0 or _few(numbers):
        return _values({_written(value): count for value, count in chosen.items()}, most, missing)
    inside = [value for value in chosen if math.isfinite(value)]
    column = NumberColumn(np.concatenate((numbers, np.repeat(inside, [chosen[value] for value in inside]))))
    among = np.arange(len(column.numbers)) >= len(numbers)
    found = facet_of(column, among, most)
    return replace(found, missing=missing)


def is_facet(column: Column, documents: int) -> bool:
    """Whether its values say something about more than one document (an address or a DOI does not)."""
    if isinstance(column, NumberColumn):
        return bool(np.isfinite(column.numbers).any())
    holding = int((column.codes >= 0).sum())
    return 0 < len(column.values) <= max(2, min(holding, documents) // 2)


def _values(counts: dict[str, int], most: int, missing: int) -> ValueFacet:
    order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ValueFacet(tuple(order[:most]), sum(count for _, count in order[most:]), missing)


def _few(numbers: Array) -> bool:
    """Looked at in two steps: most columns of numbers show that they are a range at once."""
    return len(np.unique(numbers[:1000])) <= FEW and len(np.unique(numbers)) <= FEW


def _width(lowest: float, highest: float, *, whole: bool) -> float:
    """Steps of which there are no more than `BARS`."""
    if whole:
        return float((highest - lowest) // BARS + 1)
    return (highest - lowest) / BARS


def _written(number: float) -> str:
    """As a person would write it, and as a filter reads it back."""
    return str(int(number)) if number.is_integer() else repr(number)
