"""Tell how a table is written from its start: what separates the cells, quotes, lines before the header, the header."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from rankwell.collections.column_names import IDS, TEXTS, hints_id, title_rank
from rankwell.collections.dates import date_form
from rankwell.collections.numbers import number_form
from rankwell.collections.roles import ADDRESS

NAMED = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "pipe",
    ":": "colon",
    "^": "caret",
    "~": "tilde",
    "\x1f": "unit",
}
USUAL = ",;\t|"
OTHERS = ":^~\x1f\x01"  # only where every line agrees
MOST_RECORDS = 100
MOST_SKIPPED = 20  # lines before the header
MOSTLY, ALL = 0.8, 1.0
LONGEST_NAME = 100  # characters of a column's name at most
LONGEST_START = 30_000  # characters; the last line of a longer start may be cut
BINARY = re.compile(r"%PDF|[^\n]*\ufffd[^\n]*[\r\n]+.?\n?[\x00-\x08]|PK\x03")
TOLD = re.compile(r"sep=(.)\r?")  # Excel's first line
YEAR = re.compile(r"(?:1[89]|20)[0-9]{2}")
CODED = re.compile(r"(?=.*[0-9])[\w.:/#-]{1,40}")


@dataclass(frozen=True)
class Dialect:
    """How a table is written. `header` is None where the first record names the columns, but nothing proves it."""

    delimiter: str = ","
    quote: str = '"'
    escape: str | None = None
    skip: int = 0  # lines before the header
    header: bool | None = True
    columns: int = 0
    records: int = 0
    even: float = 1.0  # share of the records that have as many cells as the header
    named: bool = False  # whether a column has a usual name
    row_names: bool = False  # whether the header lacks a name for the first column, as R writes it

    @property
    def has_header(self) -> bool:
        """Whether the first record names the columns."""
        return self.header is not False

    def options(self) -> dict[str, Any]:
        """The options of Python's csv module."""
        return {"delimiter": self.delimiter, "quotechar": self.quote, "escapechar": self.escape}


@lru_cache(maxsize=16)
def sniff(start: str) -> Dialect | None:
    """The dialect of a table that starts like this; None where it is none."""
    if start.startswith(("{", "[", "<")) or BINARY.match(start):
        return None
    told = TOLD.fullmatch(start.partition("\n")[0])
    skip = 1 if told else 0
    lines = [f"{line}\n" for line in start.split("\n")][skip:]
    if len(lines) > 1 and (len(start) > LONGEST_START or lines[-1] == "\n"):
        del lines[-1]
    able = [found for mark in (told[1] if told else USUAL) if (found := _tried(lines, mark, MOSTLY, skip))]
    if not able and not told:
        able = [found for mark in OTHERS if (found := _tried(lines, mark, ALL, skip))]
    return max(able, key=_likelihood, default=None)


def _likelihood(found: Dialect) -> tuple[bool, int, int, int]:
    """More columns are better; of equal ones, fewer lines before the header: 5,50;3,20 is no line of three cells."""
    return found.named, found.columns, -found.skip, -USUAL.find(found.delimiter)


def _tried(lines: Sequence[str], delimiter: str, share: float, skip: int) -> Dialect | None:
    """The dialect with that delimiter, if most records have as many cells as the header."""
    best: Dialect | None = None
    for shape in _shapes(lines, delimiter):
        records = list(islice(_records(lines, shape), MOST_RECORDS))
        widths = Counter(len(cells) for _, cells in records)
        columns = max(widths, key=lambda width: (widths[width] * (width > 1), width), default=0)
        before = next((place for place, (_, cells) in enumerate(records) if 2 * len(cells) > columns), 0)
        table = [cells for _, cells in records[before:]]
        if columns < 2 or before > MOST_SKIPPED or not may_be_names(table[0]):  # noqa: PLR2004 -- columns of a table
            continue
        spare = sum(len(cells) == len(table[0]) + 1 for cells in table[1:]) >= share * len(table[1:]) > 0
        row_names = spare and any(cells[-1] for cells in table[1:])  # not only a delimiter at the end of each row
        if spare:
            table = [["", *table[0]] if row_names else table[0], *table[1:]]
            widths[columns] += 1
        even = widths[columns] / len(table)
        if even >= share and (best is None or even > best.even):
            first = records[before][0] - 1 + skip
            named = bool({name.strip().lower() for name in table[0]} & {*IDS, *TEXTS})
            best = replace(
                shape,
                skip=first,
                header=is_header(table),
                columns=columns,
                records=len(table),
                even=even,
                named=named,
                row_names=row_names,
            )
    return best


def _shapes(lines: Sequence[str], delimiter: str) -> Iterator[Dialect]:
    """The usual quotes; and single quotes or a backslash before a quote, where the text suggests them."""
    mark, first = re.escape(delimiter), lines[:50]
    cell = re.compile(rf"'[^']*'(?:{mark}'[^']*'|{mark}[0-9.]*)+\r?\n")
    if first and all(map(cell.fullmatch, first)):
        yield Dialect(delimiter, "'")
        return
    if any('\\"' in line for line in first) and not _is_strict(first, delimiter):
        yield Dialect(delimiter, escape="\\")
    yield Dialect(delimiter)


def _is_strict(lines: Sequence[str], delimiter: str) -> bool:
    """Whether quotes are doubled inside of quotes, as they should be."""
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)  # a quoted text that goes on after these lines
    return True


def _records(lines: Sequence[str], shape: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The records that are not empty, each with its first line."""
    reader, number = csv.reader(lines, **shape.options()), 0
    while True:
        try:
            cells = next(reader)
        except (StopIteration, csv.Error):
            return
        if any(cells):
            yield number + 1, cells
        number = reader.line_num


def may_be_names(cells: Sequence[str]) -> bool:
    """Whether these cells can name columns: short, and not separated by tabs themselves."""
    return all(len(cell) <= LONGEST_NAME and "\t" not in cell for cell in cells) and any(cells)


def usual_names(names: Sequence[str]) -> bool:
    """Whether one of them is a usual name of an id, a title or a text."""
    return any(
        name.lower() in (*IDS, *TEXTS) or (hints_id(name) and not name.isdecimal()) or title_rank(name)
        for name in map(str.strip, names)
    )


def is_header(table: Sequence[Sequence[str]]) -> bool | None:
    """Whether the first record is a header: True or False where its cells differ from those below, or do not."""
    names, rows = table[0], [row for row in table[1:] if len(row) == len(table[0])]
    if {name.strip().lower() for name in names} & {*IDS, *TEXTS}:
        return True
    proof, years = 0, _years(names)
    for place, name in enumerate(map(str.strip, names)):
        if name in years:  # a column for each year
            continue
        below = [row[place] for row in rows if row[place].strip()]
        if name and below and (kind := _kind(below)):
            proof += -1 if _kind([name]) == kind else 1
    if proof < 0 and not usual_names(names):
        return False
    return True if proof > 0 else None


def _years(names: Sequence[str]) -> frozenset[str]:
    """Years among the names of columns: two or more, each once."""
    found = [name.strip() for name in names if YEAR.fullmatch(name.strip())]
    return frozenset(found if len(set(found)) == len(found) > 1 else ())


def _kind(values: Sequence[str]) -> str:
    """What all values are that a column's name is not: numbers, dates, addresses, codes; "" for words."""
    if number_form(values):
        return "number"
    if date_form(values):
        return "date"
    if all(ADDRESS.fullmatch(value) for value in values):
        return "url"
    return "code" if all(CODED.fullmatch(value) for value in values) else ""
