"""Answers for others: a table with random names, and nothing that tells who gave them; notes in a table apart."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from rankwell.assess.collected import Answered, Noted
from rankwell.core import ParameterError, atomic_write

Cell = str | int | float | None
Rows = Sequence[Answered] | Sequence[Noted]
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how texts begin that a spreadsheet would take for a formula


def write_export(path: Path, answers: Sequence[Answered], format: str | None = None) -> int:
    """Write the answers as tsv, csv or json, by the file's name where none is named; how many there are."""
    return _write(path, exported(answers, _format(path, format)), len(answers))


def write_notes(path: Path, notes: Sequence[Noted], format: str | None = None) -> int:
    """Write the notes, as `write_export` does the answers. People's own words: read them before you pass them on."""
    return _write(path, exported_notes(notes, _format(path, format)), len(notes))


def exported(answers: Sequence[Answered], format: str) -> str:
    """The answers as a text in one of the formats."""
    return _maker(format)(Answered._fields, answers)


def exported_notes(notes: Sequence[Noted], format: str) -> str:
    """The notes as a text in one of the formats. In tables a note that looks like a formula is led by an apostrophe."""
    return _maker(format)(Noted._fields, notes)


def _format(path: Path, format: str | None) -> str:
    return format or path.suffix.removeprefix(".")


def _maker(format: str) -> Callable[[Sequence[str], Rows], str]:
    if format not in FORMATS:
        raise ParameterError("format", expected=f"one of {', '.join(FORMATS)}", found=format)
    return FORMATS[format]


def _write(path: Path, text: str, count: int) -> int:
    with atomic_write(path) as file:
        file.write(text.encode())
    return count


def _json(_: Sequence[str], rows: Rows) -> str:
    return json.dumps([row._asdict() for row in rows], ensure_ascii=False, indent=1, default=datetime.isoformat) + "\n"


def _delimited(delimiter: str) -> Callable[[Sequence[str], Rows], str]:
    def write(columns: Sequence[str], rows: Rows) -> str:
        text = io.StringIO()
        table = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        table.writerow(columns)
        table.writerows([_cell(name, value) for name, value in row._asdict().items()] for row in rows)
        return text.getvalue()

    return write


def _cell(name: str, value: object) -> Cell:
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
        case int() | float():
            return value
        case _:
            return str(value)


FORMATS: dict[str, Callable[[Sequence[str], Rows], str]] = {
    "tsv": _delimited("\t"),
    "csv": _delimited(","),
    "json": _json,
}
