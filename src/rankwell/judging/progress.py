"""Progress of a study in total, by query and by assessor, as numbers and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, case, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from rankwell.judging.quality import GoldScore
from rankwell.judging.schema import DONE, OPEN, AssessorRow, AssignmentRow, GradeRow, PoolRow, QueryRow, in_force
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
    number: int = 0  # of the query in the database


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
    adjudicator: bool = False


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


def _queries(session: Session) -> Iterator[QueryProgress]:
    passages: dict[int, int] = dict(session.execute(_counted(PoolRow.query_id)).all())
    states, grades = _states(session, AssignmentRow.query_id), _grades(session, AssignmentRow.query_id)
    for row in session.scalars(select(QueryRow).order_by(QueryRow.id)):
        counts = (passages[row.id], states[row.id, DONE], states[row.id, OPEN], grades.get(row.id, NOTHING).grades)
        yield QueryProgress(row.qid, row.text, row.stratum, *counts, number=row.id)


def _assessors(session: Session) -> Iterator[AssessorProgress]:
    states, grades = _states(session, AssignmentRow.assessor_id), _grades(session, AssignmentRow.assessor_id)
    for row in session.scalars(select(AssessorRow).order_by(AssessorRow.id)):
        given = grades.get(row.id, NOTHING)
        yield AssessorProgress(
            *(row.name, row.english, row.administrator, row.paused, row.deleted_at is not None),
            *(states[row.id, DONE], states[row.id, OPEN], given.grades, int(given.unsure)),
            seconds=None if given.mean is None else float(given.mean) / 1000,
            active_at=row.active_at,
            adjudicator=row.adjudicator,
        )


def _counted(*whose: InstrumentedAttribute[Any]) -> Select[Any]:
    return select(*whose, func.count()).group_by(*whose)


def _states(session: Session, whose: InstrumentedAttribute[int]) -> Counter[tuple[int, str]]:
    """Number of assignments of a query or assessor in each state."""
    return Counter(
        {(number, state): count for number, state, count in session.execute(_counted(whose, AssignmentRow.state))}
    )


class _Given(NamedTuple):
    grades: int = 0
    unsure: int = 0
    mean: float | None = None  # milliseconds


NOTHING = _Given()


def _grades(session: Session, whose: InstrumentedAttribute[int]) -> dict[int, _Given]:
    """Valid answers of each query or assessor."""
    unsure = func.sum(case((GradeRow.grade.is_(None), 1), else_=0))
    wanted = _counted(whose).add_columns(unsure, func.avg(GradeRow.milliseconds))
    wanted = wanted.join(GradeRow, GradeRow.assignment_id == AssignmentRow.id).where(GradeRow.id.in_(in_force()))
    return {number: _Given(*given) for number, *given in session.execute(wanted)}


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
    columns = [Column("query", "left"), Column("text", "left")]
    columns += map(Column, ("passages", "done", "working", "grades"))
    furthest = sorted(progress.queries, key=lambda query: (-query.done, -query.working, -query.grades))
    rows = [
        (query.qid, query.text, query.passages, query.done, query.working, query.grades)
        for query in furthest
        if query.done or query.working or query.grades
    ]
    return Table("Queries", columns, rows)


def assessor_table(progress: StudyProgress, gold: Mapping[str, GoldScore] | None = None) -> Table:
    """A table of progress by assessor; with their answers to gold questions where there are any."""
    columns = [Column("assessor", "left")]
    columns += map(Column, ("English", "queries done", "open", "grades", "can't tell"))
    columns += [Column("seconds a passage", digits=1)]
    columns += [Column("gold right", "left")] if gold else []
    columns += [Column("last here", "left"), Column("role", "left")]
    rows = [
        (
            *(one.name, one.english, one.done, one.working, one.grades, one.cannot_tell, one.seconds),
            *([_of(gold.get(one.name))] if gold else []),
            f"{one.active_at:%Y-%m-%d %H:%M}",
            ", ".join(name for name in ("administrator", "adjudicator", "paused", "deleted") if getattr(one, name)),
        )
        for one in progress.assessors
    ]
    return Table("Assessors", columns, rows)


def _of(score: GoldScore | None) -> str:
    return "" if score is None else f"{score.right} of {score.answered}"
