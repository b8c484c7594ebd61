"""From the rows of any table to documents: a sample decides what each column is, then every row becomes a document.

Every source of rows (CSV, JSON, Parquet, a spreadsheet, a database) calls `documents_of_table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rankwell.collections.choosing import TableSample, choose_columns
from rankwell.collections.columns import ColumnChoice, Columns, listed
from rankwell.collections.reading import Reading
from rankwell.core import NOTHING, Document, Phrase

SAMPLE = 1000  # rows that a guess looks at

Row = tuple[int, dict[str, Any]]  # the row's line or number in the source, for errors, and its values by column
CellsRow = tuple[int, list[str]]


def documents_of_table(
    path: Path | str,
    rows: Iterable[Row],
    choice: ColumnChoice,
    reading: Reading,
    *,
    about: Mapping[str, str] = NOTHING,
    typed: bool | None = False,
    details: Sequence[str] = (),
) -> Iterator[Document]:
    """The documents of a table, read in a stream.

    `path` names the table in errors (a `str` such as `book.xlsx [Sheet2]` where one file has several). `about` has
    names that an id template may use beside the columns, such as {"sheet": "Sheet2"}. `typed` sources (JSON, SQLite)
    have numbers of their own, so that a number in a string stays a string; with `typed=None` only where the sample has
    one, because some programs write all values as strings. `details` are words on the table for people,
    such as "Excel", "sheet Sheet2".
    """
    following = iter(rows)
    sample = list(islice(following, SAMPLE))
    if not sample:
        return iter(())
    first = [row for _, row in sample]
    if typed is None:
        typed = any(isinstance(value, (int, float)) for row in first for value in row.values())
    columns = columns_of_table(path, first, choice, reading, about=about, typed=typed, details=details)
    return documents_of_rows(path, chain(sample, following), columns, reading)


def columns_of_table(
    path: Path | str,
    sample: Sequence[Mapping[str, Any]],
    choice: ColumnChoice,
    reading: Reading,
    *,
    about: Mapping[str, str] = NOTHING,
    typed: bool = False,
    details: Sequence[str] = (),
    doubts: Sequence[str] = (),
) -> Columns:
    """The columns of a table from a sample of its rows, for a source that makes the documents itself.

    How the table is read is added to `reading.tables`.
    """
    if not sample:
        return Columns(None, {})
    file = Path(path).name if isinstance(path, Path) else str(path)
    known = {"file": file, **about}
    names = list(dict.fromkeys(name for row in sample for name in row))
    kept = reading.tables.alike(names)
    before = {name.lower(): name for name in names if name.lower() in reading.tables.fields}
    if kept is None and before and choice.fields is None:
        choice = replace(choice, fields=before)
    table = TableSample(str(path), sample, choice, known, typed=typed, details=details, doubts=doubts)
    columns, how = choose_columns(table, kept)
    reading.tables.read.append(how)
    reading.place.by_content = columns.id is None
    return columns


def documents_of_rows(path: Path | str, rows: Iterable[Row], columns: Columns, reading: Reading) -> Iterator[Document]:
    """The document of each row; a row without an id or with an invalid text is a problem."""
    make, place = columns.document, reading.place
    for count, (number, row) in enumerate(rows, 1):
        try:
            document = make(row, count)
        except ValueError as error:
            reading.report(path, number, str(error), Phrase(shape(row)))
            continue
        place.line = number
        yield document


def documents_of_cells(  # noqa: PLR0917 -- what a table is made of
    path: Path, names: Sequence[str], rows: Iterable[CellsRow], columns: Columns, reading: Reading, before: int = 0
) -> Iterator[Document]:
    """The same for rows that are lists of texts, as many as there are names; `before` counts the rows before them."""
    make, place = columns.document_of_cells(names), reading.place
    for count, (number, cells) in enumerate(rows, before + 1):
        try:
            document = make(cells, count)
        except ValueError as error:
            reading.report(path, number, str(error), Phrase(shape(dict(zip(names, cells, strict=True)))))
            continue
        place.line = number
        yield document


def shape(row: Mapping[str, Any]) -> str:
    """A row's keys and types of values, for an error."""
    kinds = {name: "empty" if value in ("", None) else type(value).__name__ for name, value in list(row.items())[:12]}
    return listed([f"{name} ({kind})" for name, kind in kinds.items()]) if kinds else "an empty object"
