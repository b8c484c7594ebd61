"""Duplicates of a project: found when records come in, confirmed or kept apart by people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from rankwell.reviews.screening.duplicates import Duplicate
from rankwell.reviews.screening.store_database import Database, moment
from rankwell.reviews.screening.store_decisions import SET_ASIDE, count_change
from rankwell.reviews.screening.store_tables import DuplicateRow, RecordRow

DOUBTFUL, APART = "to confirm", "kept apart"


class Found(NamedTuple):
    """A record and the earlier one that it repeats or may repeat."""

    record: int
    original: int
    why: str
    state: str


class Duplicates:
    """Those that are certain are set aside and not screened; doubtful ones are screened until someone confirms them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Found]:
        """Every one, those first that wait for somebody, then by their records."""
        with self._database.read() as session:
            rows = session.scalars(select(DuplicateRow).order_by(DuplicateRow.record)).all()
        found = [Found(row.record, row.original, row.why, row.state) for row in rows]
        return sorted(found, key=lambda pair: (pair.state != DOUBTFUL, pair.record))

    def by_source(self) -> dict[int, Counter[str]]:
        """For each imported file how many of its records are in which state."""
        rows = select(RecordRow.source, DuplicateRow.state).join(RecordRow, DuplicateRow.record == RecordRow.id)
        found: defaultdict[int, Counter[str]] = defaultdict(Counter)
        with self._database.read() as session:
            for source, state in session.execute(rows):
                found[source][state] += 1
        return dict(found)

    def set_aside(self) -> frozenset[int]:
        """The records that are not screened."""
        with self._database.read() as session:
            return frozenset(session.scalars(select(DuplicateRow.record).where(DuplicateRow.state == SET_ASIDE)))

    def judge(self, reviewer: int, record: int, *, same: bool) -> bool:
        """Set a record aside, or keep it apart from the other; False where it is not on the list."""
        with self._database.write() as session:
            row = session.get(DuplicateRow, record)
            if row is None:
                return False
            row.state, row.by, row.at = SET_ASIDE if same else APART, reviewer, moment()
            count_change(session)
        return True


def add_duplicates(session: Session, found: Iterable[Duplicate]) -> None:
    """Note what was found, within the caller's transaction; places are those of all records, numbered from 1."""
    aside = select(DuplicateRow.record, DuplicateRow.original).where(DuplicateRow.state == SET_ASIDE)
    known: dict[int, int] = dict(session.execute(aside).all())
    for pair in found:
        original = known.get(pair.original + 1, pair.original + 1)
        state = SET_ASIDE if pair.certain else DOUBTFUL
        session.add(DuplicateRow(record=pair.copy + 1, original=original, why=pair.why, state=state, at=moment()))
