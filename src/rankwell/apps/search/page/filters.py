"""Filters of a page: values and ranges of metadata columns, in addresses and in the index's filter language."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from rankwell.apps.search.page.ranking import Given, Pairs
from rankwell.core import ParameterError
from rankwell.retrieve.filters import written

IS, FROM, TO = "is.", "from.", "to."
MOST = 100  # most conditions in one address


@dataclass(frozen=True)
class Range:
    """From one number to another, both included; "" for no bound. Kept as text, so that input is shown as typed."""

    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class Filters:
    """Filters of a page: any of the chosen values of each column, and within each range."""

    values: tuple[tuple[str, str], ...] = ()  # (column, value)
    ranges: tuple[tuple[str, Range], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.values or self.ranges)

    def chosen(self, column: str) -> tuple[str, ...]:
        """The chosen values of a column."""
        return tuple(value for name, value in self.values if name == column)

    def range(self, column: str) -> Range:
        """The range of a column, perhaps without bounds."""
        return dict(self.ranges).get(column, Range())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have a filter."""
        return tuple(dict.fromkeys([name for name, _ in (*self.values, *self.ranges)]))

    def toggled(self, column: str, value: str) -> Filters:
        """The filters with this value switched on, or off if it was on."""
        pair = (column, value)
        rest = tuple(other for other in self.values if other != pair)
        return replace(self, values=rest if pair in self.values else (*self.values, pair))

    def without(self, column: str) -> Filters:
        """The filters without those of this column."""
        return Filters(
            tuple(pair for pair in self.values if pair[0] != column),
            tuple(pair for pair in self.ranges if pair[0] != column),
        )

    def condition(self) -> str | None:
        """The filters as an expression for `--filter`."""
        parts = [
            f"{written(column)} in ({', '.join(map(written, self.chosen(column)))})"
            for column in dict.fromkeys(name for name, _ in self.values)
        ]
        for column, bounds in self.ranges:
            parts += [f"{written(column)}>={written(bounds.low)}"] if bounds.low else []
            parts += [f"{written(column)}<={written(bounds.high)}"] if bounds.high else []
        return " and ".join(parts) or None

    def pairs(self) -> Pairs:
        """The filters as parameters of the address."""
        pairs = [(IS + column, value) for column, value in self.values]
        for column, bounds in self.ranges:
            pairs += [(FROM + column, bounds.low)] if bounds.low else []
            pairs += [(TO + column, bounds.high)] if bounds.high else []
        return pairs


def read_filters(given: Given) -> Filters:
    """Read the filters from an address."""
    values = [
        (name.removeprefix(IS), value)
        for name, texts in given.items()
        if name.startswith(IS)
        for value in dict.fromkeys(texts)
    ]
    bounded = dict.fromkeys(
        name.partition(".")[2] for name, texts in given.items() if name.startswith((FROM, TO)) and any(texts)
    )
    ranges = [(column, Range(_bound(given, FROM + column), _bound(given, TO + column))) for column in bounded]
    if len(values) + len(ranges) > MOST:
        raise ParameterError("filters", expected=f"at most {MOST}", found=len(values) + len(ranges))
    return Filters(tuple(values), tuple((column, bounds) for column, bounds in ranges if bounds != Range()))


def _bound(given: Given, name: str) -> str:
    """A bound as typed, or "" where it is not a number."""
    text = (given.get(name) or ("",))[-1].strip()
    if not text:
        return ""
    try:
        usable = math.isfinite(float(text))
    except ValueError:
        usable = False
    if not usable:
        raise ParameterError(name, expected="a number", found=text)
    return text
