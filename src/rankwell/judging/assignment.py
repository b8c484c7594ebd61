"""Assignment of queries to assessors.

An assessor gets sets of queries (two of three by default). The first set is always of queries that other assessors have
been given, but fewer than the study asks for; each other set is, with the study's exploration probability, of queries
that nobody has been given yet. Where one kind runs out, the other fills the set up. Among the begun queries those with
the most assessors come first, so that queries become complete before more are begun.

Nobody is given a query in which they have decided between the grades of others: they have seen them.

Counting and giving happen while holding the study's row, one assessor after the other: two cannot read the same counts.
An assessment that lies idle is given up: when somebody asks for work, open assignments of assessors who are paused,
or have not been active for the study's number of days, no longer count. Their grades stay. Whoever comes back gets
their open queries again, as far as others have not taken them meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from sqlalchemy import Select, func, insert, or_, select, update
from sqlalchemy.orm import Session

from rankwell.judging.schema import (
    DONE,
    OPEN,
    RELEASED,
    AdjudicationRow,
    AssessorRow,
    AssignmentRow,
    PoolRow,
    PresentationRow,
    StudyRow,
)
from rankwell.judging.study import Study


def choose_sets(study: Study, begun: Mapping[int, int], fresh: Iterable[int], random: Random) -> list[list[int]]:
    """Sets of queries for one assessor, from begun queries (with their number of assessors) and fresh ones.

    Neither may hold a query that the assessor has had. Fewer and smaller sets come back where there are too few.
    """
    old = sorted(begun, key=lambda query: (-begun[query], random.random()))
    new = list(fresh)
    random.shuffle(new)
    sets = []
    for number in range(study.sets_at_once):
        explore = number > 0 and random.random() < study.exploration
        first, second = (new, old) if explore else (old, new)
        chosen = [*first[: study.set_size], *second[: max(0, study.set_size - len(first))]]
        taken = set(chosen)
        old, new = ([query for query in kind if query not in taken] for kind in (old, new))
        sets.append(chosen)
    return [chosen for chosen in sets if chosen]


def assign(
    session: Session, study: Study, assessor: AssessorRow, queries: Sequence[int], *, now: datetime, random: Random
) -> bool:
    """Give the assessor work where none is open: their own released queries, else new sets. True if there is any.

    The caller holds the assessor's row. The study's row is held from the moment when others' work is counted until
    the end of the transaction, and not before: that is how long everyone else has to wait.
    """
    mine = session.scalars(select(AssignmentRow).where(AssignmentRow.assessor_id == assessor.id)).all()
    if any(assignment.state == OPEN for assignment in mine):
        return True
    given_up = bool(session.scalars(_abandoned(study, now).limit(1)).first())
    had = {assignment.query_id for assignment in mine}
    had.update(session.scalars(select(AdjudicationRow.query_id).where(AdjudicationRow.assessor_id == assessor.id)))
    stand_in_line(session)
    if given_up:  # unless they are working now
        abandoned = session.scalars(_abandoned(study, now).with_for_update(skip_locked=True, of=AssignmentRow)).all()
        released = update(AssignmentRow).where(AssignmentRow.id.in_(abandoned)).values(state=RELEASED)
        session.execute(released.execution_options(synchronize_session=False))
    counted = select(AssignmentRow.query_id, func.count()).where(AssignmentRow.state.in_((OPEN, DONE)))
    counts: dict[int, int] = dict(session.execute(counted.group_by(AssignmentRow.query_id)).all())
    if _taken_up_again(mine, counts, study):
        return True
    begun = {query: count for query, count in counts.items() if count < study.assessors_per_query and query not in had}
    fresh = [query for query in queries if query not in had and query not in counts]
    sets = choose_sets(study, begun, fresh, random)
    if sets:
        session.execute(insert(AssignmentRow), _new_assignments(sets, assessor, mine, now, random))
    return bool(sets)


def stand_in_line(session: Session) -> None:
    """Lock the study's row, so that only one assessor is given work at a time (SQLite has one writer anyway)."""
    session.execute(select(StudyRow.id).with_for_update(key_share=True))


def order_passages(session: Session, assignment: AssignmentRow, random: Random) -> None:
    """Store the random order in which the assessor sees the query's passages."""
    pool = select(PoolRow.passage_id).where(PoolRow.query_id == assignment.query_id).order_by(PoolRow.passage_id)
    passages = list(session.scalars(pool))
    random.shuffle(passages)
    rows = [
        {"assignment_id": assignment.id, "position": place, "passage_id": passage}
        for place, passage in enumerate(passages, 1)
    ]
    session.execute(insert(PresentationRow), rows)


def _abandoned(study: Study, now: datetime) -> Select[int]:
    """The open work of assessors who are paused or were inactive for too long."""
    long_ago = now - timedelta(days=study.release_after_days)
    return (
        select(AssignmentRow.id)
        .join(AssessorRow, AssignmentRow.assessor_id == AssessorRow.id)
        .where(AssignmentRow.state == OPEN, or_(AssessorRow.paused, AssessorRow.active_at < long_ago))
    )


def _taken_up_again(mine: Sequence[AssignmentRow], counts: dict[int, int], study: Study) -> bool:
    """Reopen the assessor's released queries that still need an assessor. True if there is any."""
    released = [assignment for assignment in mine if assignment.state == RELEASED]
    again = [one for one in released if counts.get(one.query_id, 0) < study.assessors_per_query]
    for assignment in again:
        assignment.state = OPEN
    return bool(again)


def _new_assignments(
    sets: Sequence[Sequence[int]], assessor: AssessorRow, mine: Sequence[AssignmentRow], now: datetime, random: Random
) -> list[dict[str, Any]]:
    """The sets as rows of one round, all their queries in random order."""
    this_round = max((assignment.round for assignment in mine), default=0) + 1
    position = max((assignment.position for assignment in mine), default=0)
    queries = [(number, query) for number, chosen in enumerate(sets, 1) for query in chosen]
    random.shuffle(queries)
    same = {"assessor_id": assessor.id, "round": this_round, "state": OPEN, "assigned_at": now}
    return [
        {**same, "query_id": query, "position": place, "set": number}
        for place, (number, query) in enumerate(queries, position + 1)
    ]
