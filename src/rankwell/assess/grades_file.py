"""Grades in a table: what an export holds, and what other tools write."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rankwell.assess.grades import GivenGrade, Grades
from rankwell.collections.formats.delimited import header, table_rows, write_table
from rankwell.collections.formats.trec_qrels import is_whole
from rankwell.collections.lines import head
from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, Phrase

COLUMNS = ("qid", "docno", "assessor", "grade", "seconds", "english")
# What others call these columns.
NAMES: Mapping[str, tuple[str, ...]] = {
    "qid": ("qid", "query_id", "query-id", "query", "topic"),
    "docno": ("docno", "doc_id", "corpus-id", "document", "passage", "pid"),
    "assessor": ("assessor", "annotator", "judge", "rater", "worker"),
    "grade": ("grade", "label", "relevance", "rating"),
    "seconds": ("seconds",),
    "english": ("english",),
}
NEEDED = ("qid", "docno", "assessor", "grade")
OBJECTS = "a list of objects with qid, docno, assessor and grade"


def read_grades(path: Path | str, *, reading: Reading | None = None) -> Grades:
    """The grades of a TSV or CSV table whose first line names the columns, or of a JSON list of objects with them.

    It needs a query, a passage, an assessor and a grade, which is empty (null) for "I can't tell"; seconds and the
    English level may be there, and other columns do no harm.
    """
    path, reading = Path(path), reading or Reading()
    start = head(path)
    if start.lstrip().startswith(("[", "{")):
        return Grades.of(_once(path, _objects(path, reading), reading))
    delimiter = max("\t,;", key=lambda mark: len(header(start, mark)))
    places = _places(path, header(start, delimiter))
    return Grades.of(_once(path, _rows(path, reading, delimiter, places), reading))


def write_grades(path: Path | str, grades: Grades) -> None:
    """A TSV table with a header (commas where the name ends in .csv)."""
    path = Path(path)
    delimiter = "," if path.name.removesuffix(".gz").endswith(".csv") else "\t"
    rows = (["" if cell is None else cell for cell in row] for row in grades.rows())
    write_table(path, COLUMNS, rows, delimiter)


def _places(path: Path, names: list[str], number: int = 1) -> dict[str, str]:
    """Under which name each of our columns stands."""
    by_lower = {name.lower(): name for name in reversed(names)}
    found = {
        column: next(by_lower[other] for other in others if other in by_lower)
        for column, others in NAMES.items()
        if any(other in by_lower for other in others)
    }
    if any(column not in found for column in NEEDED):
        expected = f"a table with the columns {', '.join(NEEDED)} (and perhaps seconds, english)"
        raise FormatError(path, number, expected=expected, found=Phrase(", ".join(names) or "nothing"))
    return found


def _rows(path: Path, reading: Reading, delimiter: str, places: Mapping[str, str]) -> Iterator[tuple[int, GivenGrade]]:
    for number, cells in table_rows(path, reading, delimiter):
        texts = {column: cells[name].strip() for column, name in places.items()}
        yield from _checked(path, reading, number, texts)


def _objects(path: Path, reading: Reading) -> Iterator[tuple[int, GivenGrade]]:
    """The answers of a JSON file, counted from 1 where a table has its lines."""
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise FormatError(path, 1, expected=OBJECTS, found=Phrase(f"no JSON: {error}")) from error
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise FormatError(path, 1, expected=OBJECTS, found=Phrase("another kind of JSON"))
    for number, row in enumerate(found, 1):
        places = _places(path, list(row), number)
        yield from _checked(path, reading, number, {column: _text(row[name]) for column, name in places.items()})


def _text(value: Any) -> str:
    """A value of JSON as it would stand in a table."""
    return "" if value is None else str(value).strip()


def _checked(path: Path, reading: Reading, number: int, texts: Mapping[str, str]) -> Iterator[tuple[int, GivenGrade]]:
    """The row, or a problem."""
    try:
        yield number, _answer(texts)
    except ValueError as error:
        column = str(error)
        expected, found = f"{EXPECTED[column]} as {column}", texts[column]
        reading.problems.add(FormatError(path, number, expected=expected, found=found))


EXPECTED = {
    "qid": "a query's id",
    "docno": "a passage's id",
    "assessor": "an assessor's id",
    "grade": "a whole number or nothing",
    "seconds": "a number of seconds or nothing",
    "english": "a whole number or nothing",
}


def _answer(texts: Mapping[str, str]) -> GivenGrade:
    """One row; a `ValueError` names the column that is wrong."""
    for column in ("qid", "docno", "assessor"):
        if not texts[column]:
            raise ValueError(column)
    return GivenGrade(
        texts["qid"],
        texts["docno"],
        texts["assessor"],
        _whole("grade", texts["grade"]),
        _seconds(texts.get("seconds", "")),
        _whole("english", texts.get("english", "")),
    )


def _whole(column: str, text: str) -> int | None:
    if text and not is_whole(text):
        raise ValueError(column)
    return int(text) if text else None


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text) if text else None
    except ValueError:
        seconds = math.nan
    if seconds is not None and not 0 <= seconds < math.inf:
        raise ValueError("seconds")
    return seconds


def _once(path: Path, rows: Iterator[tuple[int, GivenGrade]], reading: Reading) -> Iterator[GivenGrade]:
    """The answers; a second one of the same assessor on the same passage is a problem."""
    seen: dict[tuple[str, str, str], int] = {}
    for number, row in rows:
        first = seen.setdefault((row.qid, row.docno, row.assessor), number)
        if first == number:
            yield row
        else:
            expected = "one answer of an assessor on a query's passage"
            found = Phrase(f"another, after that in line {first}")
            reading.problems.add(FormatError(path, number, expected=expected, found=found))
