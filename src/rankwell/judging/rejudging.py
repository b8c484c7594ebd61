"""Judging again: assessors grade a share of their own passages a second time, without seeing their first grade.

How often the two agree says how steady an assessor is. Second grades change nothing: the first one counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from rankwell.core import ParameterError
from rankwell.judging import schema
from rankwell.judging.people import acting_assessor
from rankwell.judging.quality import GoldScore, is_right
from rankwell.judging.schema import (
    DONE,
    OPEN,
    AssessorRow,
    AssignmentRow,
    GradeRow,
    PassageRow,
    PresentationRow,
    QueryRow,
    SecondAnswerRow,
)
from rankwell.judging.study import NotThereError, Study
from rankwell.store import Database, moment


class SecondTask(NamedTuple):
    """A passage to be graded a second time, and how many are left with it."""

    assignment: int
    position: int
    query: str
    passage: Mapping[str, str]
    left: int


@dataclass(frozen=True)
class Rejudging:
    """Second grades of a study's assessors, who are named by their random ids."""

    database: Database
    study: Study
    clock: Callable[[], datetime] = moment

    def task(self, name: str) -> SecondTask | None:
        """The next passage to judge again; None while queries are open, and where nothing is left."""
        if not self.study.rejudge:
            return None
        with self.database.read() as session:
            row = acting_assessor(session, name)
            waiting = self._waiting(session, row)
            if not waiting:
                return None
            assignment, position = waiting[0]
            wanted = (
                sa.select(QueryRow.text, PassageRow.fields)
                .select_from(PresentationRow)
                .join(AssignmentRow, PresentationRow.assignment_id == AssignmentRow.id)
                .join(QueryRow, AssignmentRow.query_id == QueryRow.id)
                .join(PassageRow, PresentationRow.passage_id == PassageRow.id)
                .where(PresentationRow.assignment_id == assignment, PresentationRow.position == position)
            )
            query, fields = session.execute(wanted).one()
        return SecondTask(assignment, position, query, dict(fields), len(waiting))

    def give(self, name: str, assignment: int, position: int, grade: int | None) -> None:
        """Save a second answer; it is on the disk on return. The same request again changes nothing."""
        if grade is not None and grade not in self.study.grades:
            raise ParameterError("grade", expected=f"one of {', '.join(map(str, self.study.grades))}", found=grade)
        with self.database.write() as session:
            row = acting_assessor(session, name, lock=True)
            own = session.get(AssignmentRow, assignment)
            there = session.get(SecondAnswerRow, (assignment, position))
            if own is not None and own.assessor_id == row.id and there is not None:
                return
            if (assignment, position) not in self._waiting(session, row):
                raise NotThereError("passage: expected one that you are asked to judge again, found another")
            session.add(
                SecondAnswerRow(assignment_id=assignment, position=position, grade=grade, given_at=self.clock())
            )

    def scores(self) -> dict[str, GoldScore]:
        """How many passages each assessor judged again, and how often they agreed with themselves (`is_right`)."""
        row, scores = SecondAnswerRow, dict[str, GoldScore]()
        same_place = sa.and_(GradeRow.assignment_id == row.assignment_id, GradeRow.position == row.position)
        wanted = (
            sa.select(AssessorRow.name, GradeRow.grade, row.grade)
            .select_from(row)
            .join(GradeRow, same_place)
            .join(AssignmentRow, row.assignment_id == AssignmentRow.id)
            .join(AssessorRow, AssignmentRow.assessor_id == AssessorRow.id)
            .where(GradeRow.id.in_(schema.in_force()))
        )
        with self.database.read() as session:
            for name, first, second in session.execute(wanted):
                same = first == second if first is None else is_right(second, first, self.study.grades)
                before = scores.get(name, GoldScore())
                scores[name] = GoldScore(before.answered + 1, before.right + same)
        return scores

    def _waiting(self, session: Session, assessor: AssessorRow) -> list[tuple[int, int]]:
        """The chosen passages of finished queries without a second answer, oldest first; none while work is open."""
        mine = AssignmentRow.assessor_id == assessor.id
        if session.scalars(sa.select(AssignmentRow.id).where(mine, AssignmentRow.state == OPEN).limit(1)).first():
            return []
        graded = (
            sa.select(GradeRow.assignment_id, GradeRow.position)
            .join(AssignmentRow, GradeRow.assignment_id == AssignmentRow.id)
            .where(mine, AssignmentRow.state == DONE, GradeRow.id.in_(schema.in_force()))
            .order_by(GradeRow.assignment_id, GradeRow.position)
        )
        again = sa.select(SecondAnswerRow.assignment_id, SecondAnswerRow.position)
        done = {(assignment, position) for assignment, position in session.execute(again)}
        return [
            (assignment, position)
            for assignment, position in session.execute(graded)
            if (assignment, position) not in done and is_chosen(assignment, position, self.study.rejudge)
        ]


def is_chosen(assignment: int, position: int, share: float) -> bool:
    """Whether a passage is among the share that is judged again: by a hash, the same whenever it is asked."""
    digest = hashlib.sha256(f"{assignment}:{position}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64
