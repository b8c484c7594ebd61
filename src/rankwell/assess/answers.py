"""Which answers are in force: the newest of each place that was not taken back."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ScalarSelect, Select, func, select
from sqlalchemy.orm import Session

from rankwell.assess.schema import RELEASED, AssignmentRow, GradeRow, PoolRow, PresentationRow


class Answer(NamedTuple):
    """A grade, or None for "I can't tell"."""

    grade: int | None


class Place(NamedTuple):
    """Where a passage stands in an assignment, when it was last shown, and the note on it."""

    position: int
    passage_id: int
    shown_at: datetime | None
    note: str | None


def places_of(session: Session, assignment: int) -> dict[int, Place]:
    """The places of an assignment by their number, from 1. Plain columns: every grade that is given reads these."""
    rows = session.execute(
        select(
            PresentationRow.position, PresentationRow.passage_id, PresentationRow.shown_at, PresentationRow.note
        ).where(PresentationRow.assignment_id == assignment)
    )
    return {row.position: Place(*row) for row in rows}


def passages_in_pool() -> ScalarSelect[int]:
    """How many passages an assignment has, for a query about assignments."""
    return select(func.count()).where(PoolRow.query_id == AssignmentRow.query_id).scalar_subquery()


def answers_of(session: Session, assignment: int) -> dict[int, Answer]:
    """The answers of an assignment that are in force, by place."""
    rows = select(GradeRow.position, GradeRow.grade).where(
        GradeRow.assignment_id == assignment, GradeRow.undone_at.is_(None)
    )
    return {place: Answer(grade) for place, grade in session.execute(rows.order_by(GradeRow.id))}


def newest_answer(session: Session, assessor_id: int) -> GradeRow | None:
    """The last answer of the assessor's latest round that was not taken back."""
    latest = select(func.max(AssignmentRow.round)).where(
        AssignmentRow.assessor_id == assessor_id, AssignmentRow.state != RELEASED
    )
    mine = (
        select(GradeRow)
        .join(AssignmentRow, GradeRow.assignment_id == AssignmentRow.id)
        .where(
            AssignmentRow.assessor_id == assessor_id,
            AssignmentRow.state != RELEASED,
            AssignmentRow.round == latest.scalar_subquery(),
            GradeRow.undone_at.is_(None),
        )
    )
    return session.scalars(mine.order_by(GradeRow.id.desc()).limit(1)).first()


def in_force() -> Select[int]:
    """The numbers of all rows of `grades` that are in force."""
    return (
        select(func.max(GradeRow.id))
        .where(GradeRow.undone_at.is_(None))
        .group_by(GradeRow.assignment_id, GradeRow.position)
    )
