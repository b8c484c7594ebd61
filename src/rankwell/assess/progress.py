"""How far a study is: in all, for each query, and for each assessor."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import case, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from rankwell.assess.answers import in_force
from rankwell.assess.schema import DONE, OPEN, AssessorRow, AssignmentRow, GradeRow, PoolRow, QueryRow
from rankwell.assess.study import Study


class QueryProgress(NamedTuple):
    """How many assessors are done with a query, how many are at it, and how many grades there are."""

    qid: str
    text: str
    stratum: str | None
    passages: int
    done: int
    working: int
    grades: int


class AssessorProgress(NamedTuple):
    """What an assessor did; `seconds` is the mean time for a passage."""

    name: str
    english: int | None
    administrator: bool
    paused: bool
    deleted: bool
    done: int
    working: int
    grades: int
    cannot_tell: int
    seconds: float | None
    active_at: datetime


@dataclass(frozen=True)
class StudyProgress:
    """Where a study stands."""

    study: Study
    queries: tuple[QueryProgress, ...]
    assessors: tuple[AssessorProgress, ...]

    @property
    def complete(self) -> int:
        """How many queries have all the assessors they want."""
        return sum(query.done >= self.study.assessors_per_query for query in self.queries)

    @property
    def begun(self) -> int:
        """How many queries at least one assessor has, or is working on."""
        return sum(query.done + query.working > 0 for query in self.queries)

    @property
    def grades(self) -> int:
        """How many answers there are."""
        return sum(query.grades for query in self.queries)


def progress_of(session: Session, study: Study) -> StudyProgress:
    """Where the study stands now."""
    return StudyProgress(study, tuple(_queries(session)), tuple(_assessors(session)))


def _queries(session: Session) -> list[QueryProgress]:
    passages = _counts(session, select(PoolRow.query_id, func.count()).group_by(PoolRow.query_id))
    states = _by_state(session, AssignmentRow.query_id)
    grades = _counts(
        session,
        select(AssignmentRow.query_id, func.count())
        .join(GradeRow, GradeRow.assignment_id == AssignmentRow.id)
        .where(GradeRow.id.in_(in_force()))
        .group_by(AssignmentRow.query_id),
    )
    return [
        QueryProgress(
            row.qid, row.text, row.stratum, passages[row.id], states[row.id, DONE], states[row.id, OPEN], grades[row.id]
        )
        for row in session.scalars(select(QueryRow).order_by(QueryRow.id))
    ]


def _assessors(session: Session) -> list[AssessorProgress]:
    states = _by_state(session, AssignmentRow.assessor_id)
    answers = (
        select(
            AssignmentRow.assessor_id,
            func.count(),
            func.sum(case((GradeRow.grade.is_(None), 1), else_=0)),
            func.avg(GradeRow.milliseconds),
        )
        .join(GradeRow, GradeRow.assignment_id == AssignmentRow.id)
        .where(GradeRow.id.in_(in_force()))
        .group_by(AssignmentRow.assessor_id)
    )
    given = {who: (count, unsure, mean) for who, count, unsure, mean in session.execute(answers)}
    found = []
    for row in session.scalars(select(AssessorRow).order_by(AssessorRow.id)):
        count, unsure, mean = given.get(row.id, (0, 0, None))
        seconds = None if mean is None else float(mean) / 1000
        found.append(
            AssessorProgress(
                row.name,
                row.english,
                row.administrator,
                row.paused,
                row.deleted_at is not None,
                states[row.id, DONE],
                states[row.id, OPEN],
                count,
                int(unsure),
                seconds,
                row.active_at,
            )
        )
    return found


def _by_state(session: Session, whose: InstrumentedAttribute[int]) -> Counter[tuple[int, str]]:
    rows = session.execute(select(whose, AssignmentRow.state, func.count()).group_by(whose, AssignmentRow.state))
    return Counter({(number, state): count for number, state, count in rows})


def _counts(session: Session, counted: Any) -> Counter[int]:
    return Counter(dict(session.execute(counted).all()))
