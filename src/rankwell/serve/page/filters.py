"""Filters of a page: values and ranges of metadata columns, as addresses say them and as the index reads them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from rankwell.core import ParameterError
from rankwell.match.filters import written
from rankwell.serve.page.ranking import Given, Pairs

IS, FROM, TO = "is.", "from.", "to."
MOST = 100  # conditions in one address


@dataclass(frozen=True)
class Range:
    """From one number to another, both included; "" where there is no bound. As text: what was typed stays as it is."""

    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class Filters:
    """What a page is narrowed to: any of the chosen values of each column, and within each range."""

    values: tuple[tuple[str, str], ...] = ()  # (column, value)
    ranges: tuple[tuple[str, Range], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.values or self.ranges)

    def chosen(self, column: str) -> tuple[str, ...]:
        """The values of a column that were chosen."""
        return tuple(value for name, value in self.values if name == column)

    def range(self, column: str) -> Range:
        """The range of a column."""
        return dict(self.ranges).get(column, Range())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are asked."""
        return tuple(dict.fromkeys([name for name, _ in (*self.values, *self.ranges)]))

    def toggled(self, column: str, value: str) -> Filters:
        """With this value if it was not chosen, without it if it was."""
        pair = (column, value)
        rest = tuple(other for other in self.values if other != pair)
        return replace(self, values=rest if pair in self.values else (*self.values, pair))

    def without(self, column: str) -> Filters:
        """Nothing asked of this column."""
        return Filters(
            tuple(pair for pair in self.values if pair[0] != column),
            tuple(pair for pair in self.ranges if pair[0] != column),
        )

    def condition(self) -> str | None:
        """The filter in the language of `--filter`."""
        parts = [
            f"{written(column)} in ({', '.join(map(written, self.chosen(column)))})"
            for column in dict.fromkeys(name for name, _ in self.values)
        ]
        for column, bounds in self.ranges:
            parts += [f"{written(column)}>={written(bounds.low)}"] if bounds.low else []
            parts += [f"{written(column)}<={written(bounds.high)}"] if bounds.high else []
        return " and ".join(parts) or None

    def pairs(self) -> Pairs:
        """What an address says about them."""
        pairs = [(IS + column, value) for column, value in self.values]
        for column, bounds in self.ranges:
            pairs += [(FROM + column, bounds.low)] if bounds.low else []
            pairs += [(TO + column, bounds.high)] if bounds.high else []
        return pairs


def read_filters(given: Given) -> Filters:
    """The filters of an address."""
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
    """A bound as it was typed, if it is a number."""
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
