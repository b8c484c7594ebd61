"""Facets with their counts, and the active filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

import numpy as np

from rankwell.apps.search.page.rows import cut
from rankwell.apps.search.page.views import Filters, Pairs, Range, View, as_text
from rankwell.apps.search.searcher import SearchState
from rankwell.index import Mask, RangeFacet, SearchIndex, ValueFacet
from rankwell.retrieve import filtered

MOST_VALUES = 8
LONGEST_VALUE = 60
TALLEST = 38.0  # height of a bar in the chart's own units

Link = Callable[[View], str]


@dataclass(frozen=True)
class Choice:
    """A value that can be chosen, or is chosen."""

    words: str
    count: str
    link: str
    on: bool


@dataclass(frozen=True)
class Bar:
    """A bar of a range's histogram."""

    height: float
    inside: bool
    words: str


@dataclass(frozen=True)
class Box:
    """The facet of one column: values to choose, or a range with its histogram."""

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
    """The documents that match the query alone, and those that match each column's filter."""

    index: SearchIndex
    words: Mask
    filters: dict[str, Mask]

    @property
    def total(self) -> int:
        """Number of documents that match the query and all filters."""
        return int(self.without("").sum())

    def without(self, column: str) -> Mask:
        """The documents that match the query and all filters but that of one column."""
        others = (mask for name, mask in self.filters.items() if name != column)
        return reduce(and_, others, self.words)


def matched_by(state: SearchState, filters: Filters) -> Matched:
    """The documents that a search matches, by query and by filter."""
    words = replace(state, request=replace(state.request, filter=None)).matching()
    conditions = {column: filters.only(column).condition() for column in filters.columns}
    masks = {column: filtered(condition, state.index) for column, condition in conditions.items() if condition}
    return Matched(state.index, words, masks)


def boxes(
    matched: Matched, columns: tuple[str, ...], view: View, link: Link, pairs: Callable[[View], Pairs]
) -> list[Box]:
    """The facets of the columns that have values to choose."""
    if not (matched.words.any() or view.filters):
        return []
    made = []
    for name in columns:
        facet = matched.index.columns[name].facet(matched.without(name), MOST_VALUES)
        if isinstance(facet, RangeFacet):
            made.append(_range(name, facet, view, pairs(view.first_page(filters=view.filters.without(name)))))
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
            link(view.first_page(filters=view.filters.toggled(name, value))),
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
    return as_text(number if number.is_integer() else float(f"{number:.6g}"))


@dataclass(frozen=True)
class Chip:
    """An active filter, and the address of the page without it."""

    words: str
    link: str


def chips(filters: Filters, link: Callable[[Filters], str]) -> list[Chip]:
    """The active filters; `link` gives the address of the page with other filters."""
    values = [
        Chip(f"{column}: {cut(value, LONGEST_VALUE)}", link(filters.toggled(column, value)))
        for column, value in filters.values
    ]
    ranges = [Chip(f"{column}: {_span(bounds)}", link(filters.without(column))) for column, bounds in filters.ranges]
    return values + ranges


def _span(bounds: Range) -> str:
    if bounds.low and bounds.high:
        return f"{bounds.low} to {bounds.high}"
    return f"from {bounds.low}" if bounds.low else f"to {bounds.high}"
