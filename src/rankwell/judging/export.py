"""Answers and notes as tables without names, read from a study's database."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from rankwell.core import Judgments, ParameterError, atomic_write
from rankwell.judging.answers import in_force
from rankwell.judging.grades import GivenGrade, Grades
from rankwell.judging.schema import (
    DONE,
    AssessorRow,
    AssignmentRow,
    GradeRow,
    PassageRow,
    PoolRow,
    PresentationRow,
    QueryRow,
)


class Answered(NamedTuple):
    """One answer with all its publishable properties.

    `query_order` is the query's place among all that the assessor was given, `passage_order` the passage's place in
    the query; `finished` says whether the assessor answered for the whole query.
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


class Noted(NamedTuple):
    """An assessor's note on a passage. It is free text and may reveal who they are."""

    qid: str
    docno: str
    assessor: str
    note: str


def answers(session: Session) -> Iterator[Answered]:
    """All valid answers, ordered by query, assessor and presentation."""
    rows = session.execute(
        select(
            QueryRow.qid,
            PassageRow.docno,
            AssessorRow.name,
            GradeRow.grade,
            GradeRow.milliseconds,
            AssessorRow.english,
            GradeRow.given_at,
            AssignmentRow.position,
            GradeRow.position,
            AssignmentRow.state,
        )
        .join(AssignmentRow, GradeRow.assignment_id == AssignmentRow.id)
        .join(AssessorRow, AssignmentRow.assessor_id == AssessorRow.id)
        .join(QueryRow, AssignmentRow.query_id == QueryRow.id)
        .join(
            PresentationRow,
            (PresentationRow.assignment_id == GradeRow.assignment_id) & (PresentationRow.position == GradeRow.position),
        )
        .join(PassageRow, PresentationRow.passage_id == PassageRow.id)
        .where(GradeRow.id.in_(in_force()))
        .order_by(QueryRow.id, AssessorRow.name, GradeRow.position)
    )
    for qid, docno, name, grade, took, english, given_at, query_order, passage_order, state in rows:
        seconds = None if took is None else took / 1000
        yield Answered(qid, docno, name, grade, seconds, english, given_at, query_order, passage_order, state == DONE)


def notes(session: Session) -> Iterator[Noted]:
    """All notes, ordered by query, assessor and presentation; also on passages without an answer."""
    rows = session.execute(
        select(QueryRow.qid, PassageRow.docno, AssessorRow.name, PresentationRow.note)
        .join(AssignmentRow, PresentationRow.assignment_id == AssignmentRow.id)
        .join(AssessorRow, AssignmentRow.assessor_id == AssessorRow.id)
        .join(QueryRow, AssignmentRow.query_id == QueryRow.id)
        .join(PassageRow, PresentationRow.passage_id == PassageRow.id)
        .where(PresentationRow.note.is_not(None))
        .order_by(QueryRow.id, AssessorRow.name, PresentationRow.position)
    )
    return (Noted(qid, docno, name, note or "") for qid, docno, name, note in rows)


def query_texts(session: Session) -> dict[str, str]:
    """The text of each query by its id."""
    rows = session.scalars(select(QueryRow).order_by(QueryRow.id))
    return {row.qid: row.text for row in rows}


def grades_table(session: Session, *, finished: bool = False) -> Grades:
    """The valid answers as `Grades`; with `finished` only of queries that their assessor finished."""
    return Grades.of(
        GivenGrade(row.qid, row.docno, row.assessor, row.grade, row.seconds, row.english)
        for row in answers(session)
        if row.finished or not finished
    )


def original_judgments(session: Session) -> Judgments:
    """The grades that passages of the pool had before the study."""
    rows = session.execute(
        select(QueryRow.qid, PassageRow.docno, PoolRow.original)
        .join(QueryRow, PoolRow.query_id == QueryRow.id)
        .join(PassageRow, PoolRow.passage_id == PassageRow.id)
        .where(PoolRow.original.is_not(None))
        .order_by(QueryRow.id, PassageRow.id)
    )
    return Judgments((qid, docno, grade) for qid, docno, grade in rows if grade is not None)


Cell = str | int | float | None
Rows = Sequence[Answered] | Sequence[Noted]
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes texts that begin so for formulas


def write_export(path: Path, answers: Sequence[Answered], format: str | None = None) -> int:
    """Write the answers as tsv, csv or json (default: by the file's name); returns their number."""
    return _write(path, exported(answers, _format(path, format)), len(answers))


def write_notes(path: Path, notes: Sequence[Noted], format: str | None = None) -> int:
    """Write the notes like `write_export`. They are free text: read them before you publish them."""
    return _write(path, exported_notes(notes, _format(path, format)), len(notes))


def exported(answers: Sequence[Answered], format: str) -> str:
    """The answers as a text in one of the formats."""
    return _maker(format)(Answered._fields, answers)


def exported_notes(notes: Sequence[Noted], format: str) -> str:
    """The notes as a text in one of the formats. In tables a note like a formula gets a leading apostrophe."""
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
