"""Answers and notes as tables without names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from rankwell.core import ParameterError, atomic_write


class Answered(NamedTuple):
    """One answer with all its publishable properties.

    `query_order` is the query's place among all that the assessor was given, `passage_order` the passage's place in
    the query; `finished` says whether the assessor answered for the whole query, `adjudicated` is the grade that was
    decided on for the passage where grades differed.
    """

    qid: str
    docno: str
    assessor: str
    grade: int | None
    seconds: float | None
    english: int | None
    given_at: datetime
    query_order: int
    passage_order: int
    finished: bool
    adjudicated: int | None = None


class Noted(NamedTuple):
    """An assessor's note on a passage. It is free text and may reveal who they are."""

    qid: str
    docno: str
    assessor: str
    note: str


class Adjudicated(NamedTuple):
    """A decision about a passage whose grades differed: the grade, by whom, and the note, which is free text."""

    qid: str
    docno: str
    adjudicator: str
    grade: int
    given_at: datetime
    note: str


Rows = Sequence[Answered] | Sequence[Noted] | Sequence[Adjudicated]
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes texts that begin so for formulas
DELIMITERS = {"tsv": "\t", "csv": ","}
FORMATS = (*DELIMITERS, "json")


def write_export(path: Path, rows: Rows, format: str | None = None, kind: type[NamedTuple] = Answered) -> int:
    """Write answers, or notes (`kind=Noted`), as tsv, csv or json (default: by the file's name); returns their number.

    Notes are free text: read them before you publish them.
    """
    text = exported(rows, format or path.suffix.removeprefix("."), kind)
    with atomic_write(path) as file:
        file.write(text.encode())
    return len(rows)


def exported(rows: Rows, format: str, kind: type[NamedTuple] = Answered) -> str:
    """Answers or notes as a text in one of the formats. In tables a note like a formula gets a leading apostrophe."""
    if format not in FORMATS:
        raise ParameterError("format", expected=f"one of {', '.join(FORMATS)}", found=format)
    plain = [row._asdict() for row in rows]
    if format == "json":
        return json.dumps(plain, ensure_ascii=False, indent=1, default=datetime.isoformat) + "\n"
    text = io.StringIO()
    table = csv.writer(text, delimiter=DELIMITERS[format], lineterminator="\n")
    table.writerow(kind._fields)
    table.writerows([_cell(name, value) for name, value in row.items()] for row in plain)
    return text.getvalue()


def _cell(name: str, value: object) -> object:
    """A value in a table: an empty grade is "I can't tell", times are in UTC."""
    match value:
        case None:
            return ""
        case bool():
            return int(value)
        case datetime():
            return value.isoformat()
        case str() if name == "note" and value.startswith(FORMULA):
            return f"'{value}"
    return value
