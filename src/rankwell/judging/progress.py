"""Progress of a study in total, by query and by assessor, as numbers and tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import case, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from rankwell.judging.answers import in_force
from rankwell.judging.schema import DONE, OPEN, AssessorRow, AssignmentRow, GradeRow, PoolRow, QueryRow
from rankwell.judging.study import Study
from rankwell.report import Column, Table


class QueryProgress(NamedTuple):
    """Number of assessors who finished a query or work on it, and number of its grades."""

    qid: str
    text: str
    stratum: str | None
    passages: int
    done: int
    working: int
    grades: int


class AssessorProgress(NamedTuple):
    """An assessor's counts; `seconds` is the mean time per passage."""

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
    """The progress of a study by query and by assessor."""

    study: Study
    queries: tuple[QueryProgress, ...]
    assessors: tuple[AssessorProgress, ...]

    @property
    def complete(self) -> int:
        """Number of queries with enough assessors."""
        return sum(query.done >= self.study.assessors_per_query for query in self.queries)

    @property
    def begun(self) -> int:
        """Number of queries that at least one assessor finished or works on."""
        return sum(query.done + query.working > 0 for query in self.queries)

    @property
    def grades(self) -> int:
        """Number of answers."""
        return sum(query.grades for query in self.queries)


def progress_of(session: Session, study: Study) -> StudyProgress:
    """Read the study's progress from its database."""
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


def totals(progress: StudyProgress) -> str:
    """The progress in total, as a sentence."""
    wanted, queries = progress.study.assessors_per_query, len(progress.queries)
    graders = sum(assessor.grades > 0 for assessor in progress.assessors)
    who = f"{graders:,} {'assessor' if graders == 1 else 'assessors'}"
    return (
        f"{progress.grades:,} grades by {who}; of {queries:,} queries {progress.begun:,} are begun "
        f"and {progress.complete:,} have {wanted} assessors"
    )


def query_table(progress: StudyProgress) -> Table:
    """A table of progress by query, the most complete first."""
    columns = [
        Column("query", "left"),
        Column("text", "left"),
        Column("passages"),
        Column("done"),
        Column("working"),
        Column("grades"),
    ]
    furthest = sorted(progress.queries, key=lambda query: (-query.done, -query.working, -query.grades))
    rows = [
        (query.qid, query.text, query.passages, query.done, query.working, query.grades)
        for query in furthest
        if query.done or query.working or query.grades
    ]
    return Table("Queries", columns, rows)


def assessor_table(progress: StudyProgress) -> Table:
    """A table of progress by assessor."""
    columns = [
        Column("assessor", "left"),
        Column("English"),
        Column("queries done"),
        Column("open"),
        Column("grades"),
        Column("can't tell"),
        Column("seconds a passage", digits=1),
        Column("last here", "left"),
        Column("role", "left"),
    ]
    rows = [
        (
            assessor.name,
            assessor.english,
            assessor.done,
            assessor.working,
            assessor.grades,
            assessor.cannot_tell,
            assessor.seconds,
            f"{assessor.active_at:%Y-%m-%d %H:%M}",
            ", ".join(name for name in ("administrator", "paused", "deleted") if getattr(assessor, name)),
        )
        for assessor in progress.assessors
    ]
    return Table("Assessors", columns, rows)
