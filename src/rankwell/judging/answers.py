"""Valid answers: for each passage of an assignment the newest answer that was not undone."""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ScalarSelect, Select, func, select
from sqlalchemy.orm import Session

from rankwell.judging.schema import RELEASED, AssignmentRow, GradeRow, PoolRow, PresentationRow


class Answer(NamedTuple):
    """A grade, or None for "I can't tell"."""

    grade: int | None


class PassageState(NamedTuple):
    """A passage of an assignment: when it was last shown, and the note on it."""

    position: int
    passage_id: int
    shown_at: datetime | None
    note: str | None


def places_of(session: Session, assignment: int) -> dict[int, PassageState]:
    """The places of an assignment by position, from 1. Plain columns, because every grade reads them."""
    rows = session.execute(
        select(
            PresentationRow.position, PresentationRow.passage_id, PresentationRow.shown_at, PresentationRow.note
        ).where(PresentationRow.assignment_id == assignment)
    )
    return {row.position: PassageState(*row) for row in rows}


def passages_in_pool() -> ScalarSelect[int]:
    """Number of passages of an assignment, as a subquery."""
    return select(func.count()).where(PoolRow.query_id == AssignmentRow.query_id).scalar_subquery()


def answers_of(session: Session, assignment: int) -> dict[int, Answer]:
    """The valid answers of an assignment by position."""
    rows = select(GradeRow.position, GradeRow.grade).where(
        GradeRow.assignment_id == assignment, GradeRow.undone_at.is_(None)
    )
    return {place: Answer(grade) for place, grade in session.execute(rows.order_by(GradeRow.id))}


def newest_answer(session: Session, assessor_id: int) -> GradeRow | None:
    """The last answer of the assessor's latest round that was not undone."""
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
    """Select the ids of all valid rows of `grades`."""
    return (
        select(func.max(GradeRow.id))
        .where(GradeRow.undone_at.is_(None))
        .group_by(GradeRow.assignment_id, GradeRow.position)
    )


REFUSED = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with NUL and lone surrogates, which PostgreSQL refuses, replaced by U+FFFD."""
    return REFUSED.sub("\ufffd", text)
