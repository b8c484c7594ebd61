"""Filters that are on: each with the page without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankwell.serve.page.filters import Filters, Range
from rankwell.serve.page.rows import cut

LONGEST = 60  # characters of a value


@dataclass(frozen=True)
class Chip:
    """A filter that is on, and the page without it."""

    words: str
    link: str


def chips(filters: Filters, link: Callable[[Filters], str]) -> list[Chip]:
    """The filters that are on; `link` gives the page with other ones."""
    values = [
        Chip(f"{column}: {cut(value, LONGEST)}", link(filters.toggled(column, value)))
        for column, value in filters.values
    ]
    ranges = [Chip(f"{column}: {_span(bounds)}", link(filters.without(column))) for column, bounds in filters.ranges]
    return values + ranges


def _span(bounds: Range) -> str:
    if bounds.low and bounds.high:
        return f"{bounds.low} to {bounds.high}"
    return f"from {bounds.low}" if bounds.low else f"to {bounds.high}"
