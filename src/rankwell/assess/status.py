"""Tables that show how far a study is."""

from __future__ import annotations

from rankwell.assess.progress import StudyProgress
from rankwell.report import Column, Table


def totals(progress: StudyProgress) -> str:
    """Where the study stands, in a sentence."""
    wanted, queries = progress.study.assessors_per_query, len(progress.queries)
    graders = sum(assessor.grades > 0 for assessor in progress.assessors)
    who = f"{graders:,} {'assessor' if graders == 1 else 'assessors'}"
    return (
        f"{progress.grades:,} grades by {who}; of {queries:,} queries {progress.begun:,} are begun "
        f"and {progress.complete:,} have {wanted} assessors"
    )


def query_table(progress: StudyProgress) -> Table:
    """A row for each query, the furthest first."""
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
    """A row for each assessor."""
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
