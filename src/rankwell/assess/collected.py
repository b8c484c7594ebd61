"""What a study has collected, read out of its database: answers, and the judgments there were before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from rankwell.assess.answers import in_force
from rankwell.assess.grades import GivenGrade, Grades
from rankwell.assess.schema import (
    DONE,
    AssessorRow,
    AssignmentRow,
    GradeRow,
    PassageRow,
    PoolRow,
    PresentationRow,
    QueryRow,
)
from rankwell.core import Judgments


class Answered(NamedTuple):
    """One answer with all that may be published of it.

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
    """What an assessor remarked on a passage. It is in their own words, which may tell who they are."""

    qid: str
    docno: str
    assessor: str
    note: str


def answers(session: Session) -> Iterator[Answered]:
    """Every answer in force, by query, assessor and order of presentation."""
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
    """Every note, by query, assessor and order of presentation; also of passages without an answer."""
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
    """What the queries of the study ask, by their ids."""
    rows = session.scalars(select(QueryRow).order_by(QueryRow.id))
    return {row.qid: row.text for row in rows}


def grades_table(session: Session, *, finished: bool = False) -> Grades:
    """The answers as plain columns; only those of queries that the assessor finished, where asked for."""
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
