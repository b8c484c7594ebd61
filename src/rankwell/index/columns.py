"""Metadata columns, one value per document, for filters; and facets, the counts of their values."""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwell.core import Strings, strings
from rankwell.index.blocks import Array, BlockFile, BlockWriter, Texts, add_texts
from rankwell.index.protocol import EMPTY, NUMBER, TEXT, Mask

Bools = npt.NDArray[np.bool_]
# The comparison operators of filters.
SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers; NaN for a document without a value."""

    numbers: Array

    @property
    def kind(self) -> str:
        """The kind of the values; "none" for an empty column, which may have been meant for text."""
        return NUMBER if self.present().any() else EMPTY

    def present(self) -> Bools:
        """Mask of the documents with a number."""
        return ~np.isnan(self.numbers)

    def compared(self, sign: str, value: str | float) -> Bools:
        """Mask of the documents whose number compares like this with the value."""
        return np.asarray(SIGNS[sign](self.numbers, value) & self.present(), dtype=bool)

    def one_of(self, values: Sequence[str | float]) -> Bools:
        """Mask of the documents with one of these numbers."""
        return np.asarray(np.logical_or.reduce([self.compared("=", value) for value in values]))

    def facet(self, among: Mask, most: int = 10) -> Facet:
        """The counts of a few numbers, or of the bins of a range, over some documents."""
        numbers = self.numbers[np.isfinite(self.numbers)]
        chosen = self.numbers[np.asarray(among)]
        missing = int(np.isnan(chosen).sum())
        if len(numbers) == 0 or _few(numbers):
            counts = {written(value): count for value, count in self.counts(np.asarray(among)).items()}
            return _values(counts, most, missing)
        lowest, highest = float(numbers.min()), float(numbers.max())
        width = _width(lowest, highest, whole=bool((numbers == np.floor(numbers)).all()))
        inside = chosen[np.isfinite(chosen)]
        if not 0 < width < math.inf:  # too close to each other, or too far apart, for bins
            return RangeFacet(lowest, highest, width, (len(inside),), missing)
        steps = min(int((highest - lowest) // width) + 1, BARS)
        places = np.minimum((inside - lowest) // width, steps - 1).astype(np.int64)
        return RangeFacet(lowest, highest, width, tuple(np.bincount(places, minlength=steps).tolist()), missing)

    def is_facet(self, documents: int) -> bool:  # noqa: ARG002 -- numbers form a range, however many there are
        """Whether any document has a number."""
        return bool(np.isfinite(self.numbers).any())

    def counts(self, among: Array) -> Counter[float]:
        """The number of these documents with each value."""
        chosen = self.numbers[among]
        values, counts = np.unique(chosen[~np.isnan(chosen)], return_counts=True)
        return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Text as codes: the sorted distinct values, and the index of each document's value (-1: none)."""

    codes: Array
    values: Strings

    kind = TEXT

    def present(self) -> Bools:
        """Mask of the documents with a text."""
        return np.asarray(self.codes >= 0)

    def compared(self, sign: str, value: str | float) -> Bools:
        """Mask of the documents whose text compares like this with the value, by character codes."""
        # Once per distinct value; the False at the end is for -1.
        return np.asarray(np.append(SIGNS[sign](self.values, value), np.False_)[self.codes], dtype=bool)

    def one_of(self, values: Sequence[str | float]) -> Bools:
        """Mask of the documents with one of these texts."""
        return np.asarray(np.logical_or.reduce([self.compared("=", value) for value in values]))

    @cached_property
    def is_dates(self) -> bool:
        """Whether all values are ISO dates: a year, a month or a day, with a time or without."""
        return len(self.values) > 0 and all(DATE.match(value) for value in self.values.tolist())

    def facet(self, among: Mask, most: int = 10) -> Facet:
        """The counts of the most common values over some documents, or of years, months or days."""
        chosen = np.asarray(among)
        if len(self.values) > FEW and self.is_dates:
            return _dates(self, chosen)
        return _values(dict(self.counts(chosen)), most, int((self.codes[chosen] < 0).sum()))

    def is_facet(self, documents: int) -> bool:
        """Whether there are fewer values than documents with one, or dates, which form a range."""
        return self.is_dates or 0 < len(self.values) <= max(2, min(int(self.present().sum()), documents) // 2)

    def counts(self, among: Array) -> Counter[str]:
        """The number of these documents with each value."""
        codes = self.codes[among]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.values)).tolist()
        return Counter({value: count for value, count in zip(self.values.tolist(), counts, strict=True) if count})


Column = NumberColumn | TextColumn


def write_column(file: BlockWriter, name: str, column: Column) -> None:
    """Write a column as sections of a segment."""
    if isinstance(column, NumberColumn):
        file.add(f"number:{name}", column.numbers.astype(np.float64, copy=False))
    else:
        file.add(f"codes:{name}", column.codes.astype(np.int32, copy=False))
        add_texts(file, f"values:{name}", column.values.tolist())


def read_column(file: BlockFile, name: str, documents: int) -> Column:
    """Read a column of a segment; a missing column has no values."""
    if f"number:{name}" in file:
        return NumberColumn(file[f"number:{name}"].all())
    if f"codes:{name}" in file:
        return TextColumn(file[f"codes:{name}"].all(), strings(Texts(file, f"values:{name}").all()))
    return NumberColumn(np.full(documents, np.nan))


def joined(columns: Iterable[Column]) -> Column:
    """Concatenate the columns of several segments; numbers become text where one of them has text."""
    parts = list(columns)
    if all(isinstance(part, NumberColumn) for part in parts):
        return NumberColumn(np.concatenate([np.zeros(0), *(p.numbers for p in parts if isinstance(p, NumberColumn))]))
    texts = [_as_text(part) for part in parts]
    values = sorted({value for part in texts for value in part.values.tolist()})
    place = {value: code for code, value in enumerate(values)}
    codes = [
        np.array([*(place[value] for value in part.values.tolist()), -1], dtype=np.int32)[part.codes] for part in texts
    ]
    return TextColumn(np.concatenate(codes), strings(values))


def column_of(values: Sequence[Any]) -> Column:
    """The column of these values (None: no value), of numbers if all are numbers, else of text."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, (int, float)) for value in present):
        return NumberColumn(np.array([math.nan if value is None else _number(value) for value in values]))
    texts = [None if value is None else written(value) for value in values]
    distinct = sorted({value for value in texts if value is not None})
    place: dict[str | None, int] = {value: code for code, value in enumerate(distinct)}
    return TextColumn(np.array([place.get(value, -1) for value in texts], dtype=np.int32), strings(distinct))


def _as_text(column: Column) -> TextColumn:
    if isinstance(column, TextColumn):
        return column
    made = column_of([None if math.isnan(number) else written(number) for number in column.numbers.tolist()])
    return made if isinstance(made, TextColumn) else TextColumn(np.full(len(column.numbers), -1), strings([]))


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def written(value: Any) -> str:
    """The value as text: 2020.0 is 2020. NULs, which end a text on the disk, are removed."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value if isinstance(value, str) else str(value)
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


FEW = 6  # most distinct numbers of a choice (a grade, yes or no); more are a range
BARS = 24


@dataclass(frozen=True)
class ValueFacet:
    """The most common values, in descending order (ties by value), with their numbers of documents."""

    counts: tuple[tuple[str, int], ...]
    others: int  # documents with an unlisted value
    missing: int  # documents without a value


@dataclass(frozen=True)
class RangeFacet:
    """The range of numbers from lowest to highest (of all documents), with counts of the given ones per equal bin.

    Bins of integers have an integer width, so that a year is never divided; the last bin may extend beyond the
    highest number.
    """

    lowest: float
    highest: float
    width: float
    bars: tuple[int, ...]
    missing: int

    @property
    def whole(self) -> bool:
        """Whether the numbers are integers (years)."""
        return all(number.is_integer() for number in (self.lowest, self.highest, self.width))


@dataclass(frozen=True)
class DateFacet:
    """Dates from the lowest to the highest of all documents, with counts of the given ones per year, month or day.

    `bars` are (start, count) in order, without gaps. More than `BARS` years are counted in steps of several years.
    """

    lowest: str
    highest: str
    unit: str
    bars: tuple[tuple[str, int], ...]
    missing: int


Facet = ValueFacet | RangeFacet | DateFacet


def facet_of_counts(counts: Mapping[Any, tuple[int, int]], missing: int, most: int = 10) -> Facet:
    """The facet from the column's values, each with its number of all documents and of the given ones.

    For columns that are not in memory.
    """
    chosen = {value: own for value, (_, own) in counts.items() if own}
    if any(isinstance(value, str) for value in counts):
        return _values(chosen, most, missing)
    numbers = np.array([value for value in counts if math.isfinite(value)])
    if len(numbers) == 0 or _few(numbers):
        return _values({written(value): count for value, count in chosen.items()}, most, missing)
    inside = [value for value in chosen if math.isfinite(value)]
    column = NumberColumn(np.concatenate((numbers, np.repeat(inside, [chosen[value] for value in inside]))))
    among = np.arange(len(column.numbers)) >= len(numbers)
    return replace(column.facet(among, most), missing=missing)


def _values(counts: dict[str, int], most: int, missing: int) -> ValueFacet:
    order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ValueFacet(tuple(order[:most]), sum(count for _, count in order[most:]), missing)


# A year, a month or a day; a time may follow a day.
DATE = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01])(?:[T ].*)?)?)?$", re.ASCII)
YEAR, MONTH, DAY = "year", "month", "day"


def _dates(column: TextColumn, chosen: Array) -> DateFacet:
    values = column.values.tolist()
    days = [value[:10] if len(value) > len("2020-03") else value for value in values]
    by_unit = {unit: [number(day) for day in days] for unit, number in ((DAY, _day), (MONTH, _month), (YEAR, _year))}
    unit = next((unit for unit, of in by_unit.items() if max(of) - min(of) < BARS), YEAR)
    numbers = by_unit[unit]
    first = min(numbers)
    width = (max(numbers) - first) // BARS + 1  # more than one only for years
    places = np.append((np.array(numbers) - first) // width, -1)[column.codes[chosen]]
    steps = (max(numbers) - first) // width + 1
    counts = np.bincount(places[places >= 0], minlength=steps).tolist()
    starts = (_written_date(first + place * width, unit) for place in range(steps))
    return DateFacet(min(days), max(days), unit, tuple(zip(starts, counts, strict=True)), int((places < 0).sum()))


def _year(text: str) -> int:
    return int(text[:4])


def _month(text: str) -> int:
    return 12 * _year(text) + (int(text[5:7]) if len(text) > len("2020") else 1) - 1


def _day(text: str) -> int:
    """A number of days; a month or a year is its first day. A date that no calendar has is near the right place."""
    first = np.datetime64(_written_date(_month(text), MONTH), "D").astype(np.int64)
    return int(first) + (int(text[8:10]) - 1 if len(text) > len("2020-03") else 0)


def _written_date(number: int, unit: str) -> str:
    if unit == DAY:
        return str(np.datetime64(number, "D"))
    return f"{number:04d}" if unit == YEAR else f"{number // 12:04d}-{number % 12 + 1:02d}"


def sort_keys(column: TextColumn) -> Array:
    """A number for each document, in the order of the texts without regard to case; NaN without one."""
    values = column.values.tolist()
    order = sorted(range(len(values)), key=lambda place: (values[place].casefold(), values[place]))
    keys = np.full(len(values) + 1, np.nan)
    keys[order] = np.arange(len(values))
    return keys[column.codes]


def _few(numbers: Array) -> bool:
    """Checked in two steps: most columns of numbers are a range at first sight."""
    return len(np.unique(numbers[:1000])) <= FEW and len(np.unique(numbers)) <= FEW


def _width(lowest: float, highest: float, *, whole: bool) -> float:
    """The width of at most `BARS` bins."""
    if whole:
        return float((highest - lowest) // BARS + 1)
    return (highest - lowest) / BARS
