"""Passages whose grades differ, and the decisions of a third person between them.

A passage comes up once its query has as many assessors as the study asks for. Whoever graded the query does not decide;
who decides is not given the query later. All grades stay: a decision stands beside them, in exports and labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from rankwell.core import ParameterError
from rankwell.judging import schema
from rankwell.judging.assignment import stand_in_line
from rankwell.judging.export import Adjudicated
from rankwell.judging.people import find_assessor, note_event
from rankwell.judging.schema import (
    DONE,
    AdjudicationRow,
    AssessorRow,
    AssignmentRow,
    GradeRow,
    PassageRow,
    PresentationRow,
    QueryRow,
)
from rankwell.judging.study import AssessError, NotThereError, PausedError, Study
from rankwell.store import Database, moment, storable

LONGEST_NOTE = 10_000
FEWEST = 2  # grades that can differ


class SingleGrade(NamedTuple):
    """One assessor's answer on a passage (None: "I can't tell"), with their note."""

    assessor: str
    grade: int | None
    seconds: float | None
    note: str


class Decided(NamedTuple):
    """A decision: its number, the grade, the adjudicator and their note."""

    number: int
    grade: int
    by: str
    note: str


@dataclass(frozen=True)
class PassageGrades:
    """All grades of a passage, and the decision about it if there is one.

    `mine` says whether the one who looks was given the query too.
    """

    query_id: int
    passage_id: int
    qid: str
    docno: str
    query: str
    passage: Mapping[str, str]
    grades: tuple[SingleGrade, ...]
    decided: Decided | None
    mine: bool

    @property
    def spread(self) -> int:
        """The distance from the lowest to the highest grade."""
        given = [one.grade for one in self.grades if one.grade is not None]
        return max(given) - min(given) if given else 0


@dataclass(frozen=True)
class Adjudication:
    """The disagreements of a study; people are named by their random ids."""

    database: Database
    study: Study
    clock: Callable[[], datetime] = moment

    def queue(self, name: str, *, least: int = 1) -> list[PassageGrades]:
        """Passages whose grades are at least so far apart: undecided ones first, the furthest apart first.

        An adjudicator sees those of queries that they were not given themselves, an administrator all.
        """
        with self.database.read() as session:
            who = _adjudicator(session, name)
            differing = _differing(self.study, least).subquery()
            here = sa.tuple_(schema.PoolRow.query_id, schema.PoolRow.passage_id)
            cases = _read(session, who, here.in_(sa.select(differing.c.query_id, differing.c.passage_id)))
        seen = [case for case in cases if who.administrator or not case.mine]
        return sorted(seen, key=lambda case: (case.decided is not None, -case.spread, case.query_id, case.passage_id))

    def one(self, name: str, query: int, passage: int) -> PassageGrades:
        """One passage whose grades differ."""
        with self.database.read() as session:
            return self._case(session, _adjudicator(session, name), query, passage)

    def grades_of(self, query: int) -> list[PassageGrades]:
        """All passages of a query with every single grade, for administrators."""
        with self.database.read() as session:
            return _read(session, None, schema.PoolRow.query_id == query)

    def decide(
        self, name: str, query: int, passage: int, grade: int, *, note: str = "", seen: int | None = None
    ) -> None:
        """Save the decided grade; it is on the disk on return. All grades stay as they are.

        `seen` is the number of the decision that the adjudicator saw (0 for none): where it is another one by now,
        nothing is saved and an error says so.
        """
        if grade not in self.study.grades:
            raise ParameterError("grade", expected=f"one of {', '.join(map(str, self.study.grades))}", found=grade)
        if len(note) > LONGEST_NOTE:
            raise ParameterError("note", expected=f"at most {LONGEST_NOTE:,} characters", found=f"{len(note):,}")
        with self.database.write() as session:
            who, case = self._to_change(session, name, query, passage)
            now, before = self.clock(), 0 if case.decided is None else case.decided.number
            if seen is not None and seen != before:
                raise AssessError("somebody else has decided this passage meanwhile; look at it again")
            _drop(session, query, passage, now)
            where = {"query_id": query, "passage_id": passage, "assessor_id": who.id}
            session.add(
                AdjudicationRow(**where, grade=grade, note=storable(note).strip() or None, given_at=now, undone_at=None)
            )
            note_event(session, now, "adjudicated", name, query=case.qid, passage=case.docno, grade=grade)

    def withdraw(self, name: str, query: int, passage: int) -> None:
        """Take a decision back: the passage waits for one again."""
        with self.database.write() as session:
            _, case = self._to_change(session, name, query, passage)
            now = self.clock()
            if _drop(session, query, passage, now):
                note_event(session, now, "adjudication withdrawn", name, query=case.qid, passage=case.docno)

    def decided(self, session: Session) -> list[Adjudicated]:
        """The decisions in force, ordered by query and passage."""
        row = AdjudicationRow
        columns = (QueryRow.qid, PassageRow.docno, AssessorRow.name, row.grade, row.given_at, row.note)
        wanted = (
            sa.select(*columns)
            .select_from(row)
            .join(QueryRow, row.query_id == QueryRow.id)
            .join(PassageRow, row.passage_id == PassageRow.id)
            .join(AssessorRow, row.assessor_id == AssessorRow.id)
            .where(row.undone_at.is_(None))
            .order_by(QueryRow.id, PassageRow.id)
        )
        return [Adjudicated(*values[:5], note=values[5] or "") for values in session.execute(wanted)]

    def _to_change(self, session: Session, name: str, query: int, passage: int) -> tuple[AssessorRow, PassageGrades]:
        """The adjudicator and the passage, with the study's row held: one decision after the other."""
        who = _adjudicator(session, name)
        stand_in_line(session)
        case = self._case(session, who, query, passage)
        if case.mine:
            raise AssessError("you were given this query yourself: another person decides")
        return who, case

    def _case(self, session: Session, who: AssessorRow, query: int, passage: int) -> PassageGrades:
        here = (schema.PoolRow.query_id == query, schema.PoolRow.passage_id == passage)
        [*found] = _read(session, who, *here)
        differing = _differing(self.study, 1).subquery()
        listed = sa.select(differing).where(differing.c.query_id == query, differing.c.passage_id == passage)
        is_there = bool(found) and (found[0].decided is not None or session.execute(listed).first() is not None)
        if not is_there or (found[0].mine and not who.administrator):
            raise NotThereError("passage: expected one whose grades differ, found another")
        return found[0]


def _adjudicator(session: Session, name: str) -> AssessorRow:
    row = find_assessor(session, name)
    if row.paused:
        raise PausedError("your work on this study has been paused; ask whoever invited you")
    if not (row.adjudicator or row.administrator):
        raise NotThereError("adjudicator: expected somebody who may decide, found another")
    return row


def _differing(study: Study, least: int) -> sa.Select[int, int]:
    """Queries and passages whose valid grades are at least so far apart, of queries with enough assessors."""
    complete = (
        sa.select(AssignmentRow.query_id)
        .where(AssignmentRow.state == DONE)
        .group_by(AssignmentRow.query_id)
        .having(sa.func.count() >= study.assessors_per_query)
    )
    return (
        sa.select(AssignmentRow.query_id, PresentationRow.passage_id)
        .select_from(GradeRow)
        .join(AssignmentRow, GradeRow.assignment_id == AssignmentRow.id)
        .join(PresentationRow, _same_place())
        .where(GradeRow.id.in_(schema.in_force()), AssignmentRow.query_id.in_(complete))
        .group_by(AssignmentRow.query_id, PresentationRow.passage_id)
        .having(
            sa.func.count(GradeRow.grade) >= FEWEST,
            sa.func.max(GradeRow.grade) - sa.func.min(GradeRow.grade) >= least,
        )
    )


def _same_place() -> sa.ColumnElement[bool]:
    presented = sa.tuple_(PresentationRow.assignment_id, PresentationRow.position)
    return presented == sa.tuple_(GradeRow.assignment_id, GradeRow.position)


def _read(session: Session, who: AssessorRow | None, *conditions: sa.ColumnElement[bool]) -> list[PassageGrades]:
    """The passages of the pool that meet the conditions, with all grades and decisions."""
    pool = schema.PoolRow
    passages = (
        sa.select(pool.query_id, pool.passage_id, QueryRow.qid, PassageRow.docno, QueryRow.text, PassageRow.fields)
        .join(QueryRow, pool.query_id == QueryRow.id)
        .join(PassageRow, pool.passage_id == PassageRow.id)
        .where(*conditions)
        .order_by(pool.query_id, pool.passage_id)
    )
    columns = (AssignmentRow.query_id, PresentationRow.passage_id, AssessorRow.name)
    given = (
        sa.select(*columns, GradeRow.grade, GradeRow.milliseconds, PresentationRow.note)
        .select_from(pool)
        .join(AssignmentRow, AssignmentRow.query_id == pool.query_id)
        .join(AssessorRow, AssignmentRow.assessor_id == AssessorRow.id)
        .join(
            PresentationRow,
            sa.and_(PresentationRow.assignment_id == AssignmentRow.id, PresentationRow.passage_id == pool.passage_id),
        )
        .join(GradeRow, _same_place())
        .where(GradeRow.id.in_(schema.in_force()), *conditions)
        .order_by(AssessorRow.name)
    )
    grades: dict[tuple[int, int], list[SingleGrade]] = {}
    for query, passage, name, grade, milliseconds, note in session.execute(given):
        seconds = None if milliseconds is None else milliseconds / 1000
        grades.setdefault((query, passage), []).append(SingleGrade(name, grade, seconds, note or ""))
    row = AdjudicationRow
    deciding = sa.select(row.query_id, row.passage_id, row.id, row.grade, AssessorRow.name, row.note)
    in_force = deciding.join(AssessorRow, row.assessor_id == AssessorRow.id).where(row.undone_at.is_(None))
    decided = {
        (query, passage): Decided(number, grade, by, note or "")
        for query, passage, number, grade, by, note in session.execute(in_force)
    }
    own = sa.select(AssignmentRow.query_id)
    mine = set() if who is None else set(session.scalars(own.where(AssignmentRow.assessor_id == who.id)))
    return [
        PassageGrades(
            *(query, passage, qid, docno, text, dict(fields), tuple(grades.get((query, passage), ()))),
            *(decided.get((query, passage)), query in mine),
        )
        for query, passage, qid, docno, text, fields in session.execute(passages)
    ]


def _drop(session: Session, query: int, passage: int, now: datetime) -> bool:
    """Undo the decision in force. True if there was one."""
    row = AdjudicationRow
    there = (row.query_id == query, row.passage_id == passage, row.undone_at.is_(None))
    dropped = sa.update(row).where(*there).values(undone_at=now).returning(row.id)
    return session.scalars(dropped.execution_options(synchronize_session=False)).first() is not None
