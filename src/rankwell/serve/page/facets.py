"""Filters to choose from: how what was found spreads over the metadata, each column without its own filter.

So a second value of a column shows how many documents it would add, not zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

import numpy as np

from rankwell.clickhouse import facet_of
from rankwell.index import Index, RangeFacet, ValueFacet
from rankwell.match import filtered
from rankwell.match.logic import Mask
from rankwell.serve.page.filters import Filters
from rankwell.serve.page.ranking import Pairs, written
from rankwell.serve.page.rows import cut
from rankwell.serve.page.views import View
from rankwell.serve.searching import Found, matching

MOST_VALUES = 8
LONGEST_VALUE = 60
TALLEST = 38.0  # of a bar, in the picture's own measure

Link = Callable[[View], str]


@dataclass(frozen=True)
class Choice:
    """A value that one can choose, or has chosen."""

    words: str
    count: str
    link: str
    on: bool


@dataclass(frozen=True)
class Bar:
    """A step of a range in its picture."""

    height: float
    inside: bool
    words: str


@dataclass(frozen=True)
class Box:
    """One column: values to choose, or a range with its picture."""

    name: str
    choices: tuple[Choice, ...] = ()
    others: str = ""
    bars: tuple[Bar, ...] = ()
    described: str = ""
    low: str = ""
    high: str = ""
    lowest: str = ""
    highest: str = ""
    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Matched:
    """The documents that match the words alone, and each column's filter."""

    index: Index
    words: Mask
    filters: dict[str, Mask]

    @property
    def total(self) -> int:
        """How many match everything."""
        return int(self.without("").sum())

    def without(self, column: str) -> Mask:
        """What matches all but the filter of one column."""
        others = (mask for name, mask in self.filters.items() if name != column)
        return reduce(and_, others, self.words)


def matched_by(found: Found, filters: Filters) -> Matched:
    """What a search matches, in parts."""
    words = matching(replace(found, request=replace(found.request, filter=None)))
    masks = {}
    for column in filters.columns:
        condition = Filters(
            tuple(pair for pair in filters.values if pair[0] == column),
            tuple(pair for pair in filters.ranges if pair[0] == column),
        ).condition()
        if condition is not None:
            masks[column] = filtered(condition, found.index)
    return Matched(found.index, words, masks)


def boxes(
    matched: Matched, columns: tuple[str, ...], view: View, link: Link, pairs: Callable[[View], Pairs]
) -> list[Box]:
    """The columns that have something to choose."""
    if not (matched.words.any() or view.filters):
        return []
    made = []
    for name in columns:
        facet = facet_of(matched.index.columns[name], matched.without(name), MOST_VALUES)
        if isinstance(facet, RangeFacet):
            made.append(_range(name, facet, view, pairs(view.narrowed(view.filters.without(name)))))
        elif facet.counts or view.filters.chosen(name):
            made.append(_values(name, facet, view, link))
    return made


def _values(name: str, facet: ValueFacet, view: View, link: Link) -> Box:
    counts, chosen = dict(facet.counts), view.filters.chosen(name)
    values = [*(value for value in chosen if value not in counts), *counts]
    choices = tuple(
        Choice(
            cut(value, LONGEST_VALUE) or "(empty)",
            f"{counts[value]:,}" if value in counts else "",
            link(view.narrowed(view.filters.toggled(name, value))),
            value in chosen,
        )
        for value in values
    )
    return Box(name, choices, f"{facet.others:,} with other values" if facet.others else "")


def _range(name: str, facet: RangeFacet, view: View, pairs: Pairs) -> Box:
    bounds, tallest = view.filters.range(name), max((*facet.bars, 1))
    low = float(bounds.low) if bounds.low else -np.inf
    high = float(bounds.high) if bounds.high else np.inf
    bars = []
    for place, count in enumerate(facet.bars):
        start = facet.lowest + place * facet.width
        end = min(start + facet.width - (1 if facet.whole else 0), facet.highest)
        span = _number(start) if start == end else f"{_number(start)} to {_number(end)}"
        height = round(max(2.0, TALLEST * count / tallest), 1) if count else 0.0
        bars.append(Bar(height, end >= low and start <= high, f"{span}: {count:,}"))
    lowest, highest = _number(facet.lowest), _number(facet.highest)
    described = f"Documents by {name}, from {lowest} to {highest}"
    return Box(
        name,
        bars=tuple(bars),
        described=described,
        low=bounds.low,
        high=bounds.high,
        lowest=lowest,
        highest=highest,
        pairs=tuple(pairs),
    )


def _number(number: float) -> str:
    return written(float(f"{number:.6g}")) if not number.is_integer() else written(number)
