"""Answers for others: a table with random names, and nothing that tells who gave them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from rankwell.assess.collected import Answered
from rankwell.core import ParameterError, atomic_write

Cell = str | int | float | bool | None


def write_export(path: Path, answers: Iterable[Answered], format: str | None = None) -> int:
    """Write the answers as tsv, csv or json, by the file's name where none is named; how many there are."""
    name = format or path.suffix.removeprefix(".")
    rows = list(answers)
    text = exported(rows, name)
    with atomic_write(path) as file:
        file.write(text.encode())
    return len(rows)


def exported(answers: Iterable[Answered], format: str) -> str:
    """The answers as a text in one of the formats."""
    if format not in FORMATS:
        raise ParameterError("format", expected=f"one of {', '.join(FORMATS)}", found=format)
    return FORMATS[format](answers)


def _json(answers: Iterable[Answered]) -> str:
    rows = [answer._asdict() | {"given_at": answer.given_at.isoformat()} for answer in answers]
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def _delimited(delimiter: str) -> Callable[[Iterable[Answered]], str]:
    def write(answers: Iterable[Answered]) -> str:
        text = io.StringIO()
        table = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        table.writerow(Answered._fields)
        table.writerows(_cells(answer) for answer in answers)
        return text.getvalue()

    return write


def _cells(answer: Answered) -> list[Cell]:
    """The answer as a row: an empty grade is "I can't tell", times are in UTC."""
    plain = answer._asdict() | {"given_at": answer.given_at.isoformat(), "finished": int(answer.finished)}
    return ["" if cell is None else cell for cell in plain.values()]


FORMATS: dict[str, Callable[[Iterable[Answered]], str]] = {
    "tsv": _delimited("\t"),
    "csv": _delimited(","),
    "json": _json,
}
