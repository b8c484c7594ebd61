"""Decisions of reviewers: given, changed, undone; every one stays in the history."""

from __future__ import annotations

import threading
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from rankwell.core import ParameterError
from rankwell.reviews.screening.answers import LONGEST_NOTE, LONGEST_REASON, Answer
from rankwell.reviews.screening.store_database import Database, moment
from rankwell.reviews.screening.store_tables import DecisionRow, DuplicateRow, ProjectRow, RecordRow, ResolutionRow

SET_ASIDE = "set aside"


class Decision(NamedTuple):
    """What a reviewer says about a record now."""

    record: int
    answer: Answer
    reason: str
    note: str


class Decisions:
    """What each reviewer decided; one reviewer's are never shown to another by this class's callers before both did.

    All of a reviewer's decisions are looked at for every page, so that they are remembered: as long as the project's
    count of changes says that nobody else, in this process or another, has changed anything.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._remembered: dict[int, dict[int, Decision]] = {}
        self._version: int | None = None
        self._lock = threading.Lock()

    def decide(self, reviewer: int, record: int, answer: Answer, reason: str = "", note: str = "") -> bool:
        """Save an answer; when this returns it is on the disk. False where there is no such record to screen."""
        _check(reason, LONGEST_REASON, "reason")
        _check(note, LONGEST_NOTE, "note")
        given = Decision(record, answer, reason if answer is Answer.EXCLUDE else "", note)
        with self._database.write() as session:
            if session.get(RecordRow, record) is None or _is_set_aside(session, record):
                return False
            before = _current(session, reviewer, record)
            if before is not None:
                before.current = False
                session.flush()
            looked = _next_look(session, reviewer) if before is None else before.looked
            session.add(DecisionRow(reviewer=reviewer, **given._asdict(), at=moment(), looked=looked, current=True))
            _drop_resolution(session, record)
            version = count_change(session)
        self._remember(version, reviewer, record, given)
        return True

    def undo(self, reviewer: int) -> int | None:
        """Take this reviewer's last answer back; the record it was about, or None where there is nothing to undo."""
        with self._database.write() as session:
            mine = select(DecisionRow).where(DecisionRow.reviewer == reviewer, DecisionRow.undone_at.is_(None))
            last = session.scalars(mine.order_by(DecisionRow.id.desc()).limit(1)).first()
            if last is None:
                return None
            last.undone_at, last.current = moment(), False
            session.flush()
            earlier = mine.where(DecisionRow.record == last.record).order_by(DecisionRow.id.desc()).limit(1)
            if (before := session.scalars(earlier).first()) is not None:
                before.current = True
            _drop_resolution(session, last.record)
            count_change(session)  # and nothing is remembered: undoing is rare
            return last.record

    def of(self, reviewer: int) -> dict[int, Decision]:
        """A reviewer's current decisions by record, in the order in which the records were first looked at."""
        columns = (DecisionRow.record, DecisionRow.answer, DecisionRow.reason, DecisionRow.note)
        rows = (
            select(*columns)
            .where(DecisionRow.reviewer == reviewer, DecisionRow.current, _not_set_aside())
            .order_by(DecisionRow.looked)
        )
        with self._database.read() as session:
            version = session.scalars(select(ProjectRow.changes)).one()
            with self._lock:
                if self._version == version and reviewer in self._remembered:
                    return dict(self._remembered[reviewer])
            found = {
                record: Decision(record, Answer(answer), reason, note)
                for record, answer, reason, note in session.execute(rows)
            }
        with self._lock:
            if self._version is None or self._version < version:
                self._version, self._remembered = version, {}
            if self._version == version:
                self._remembered[reviewer] = dict(found)
        return found

    def _remember(self, version: int, reviewer: int, record: int, given: Decision) -> None:
        """Add a decision to what is remembered, or forget all where something else has changed in between."""
        with self._lock:
            if self._version != version - 1:
                self._version, self._remembered = None, {}
                return
            self._version = version
            if reviewer in self._remembered:
                self._remembered[reviewer][record] = given

    def history(self) -> int:
        """How many answers were ever given, the undone ones among them."""
        with self._database.read() as session:
            return session.scalar(select(func.count()).select_from(DecisionRow)) or 0


def count_change(session: Session) -> int:
    """Say that something has changed that decisions depend on; the new count."""
    session.execute(update(ProjectRow).values(changes=ProjectRow.changes + 1))
    return session.scalars(select(ProjectRow.changes)).one()


def _current(session: Session, reviewer: int, record: int) -> DecisionRow | None:
    mine = (DecisionRow.reviewer == reviewer, DecisionRow.record == record, DecisionRow.current)
    return session.scalars(select(DecisionRow).where(*mine)).first()


def _next_look(session: Session, reviewer: int) -> int:
    return (session.scalar(select(func.max(DecisionRow.looked)).where(DecisionRow.reviewer == reviewer)) or 0) + 1


def _is_set_aside(session: Session, record: int) -> bool:
    found = session.get(DuplicateRow, record)
    return found is not None and found.state == SET_ASIDE


def _not_set_aside() -> ColumnElement[bool]:
    aside = select(DuplicateRow.record).where(DuplicateRow.state == SET_ASIDE)
    return DecisionRow.record.not_in(aside)


def _drop_resolution(session: Session, record: int) -> None:
    """What was agreed on was agreed on about these two answers."""
    mine = (ResolutionRow.record == record, ResolutionRow.undone_at.is_(None))
    session.execute(update(ResolutionRow).where(*mine).values(undone_at=moment()))


def _check(text: str, longest: int, name: str) -> None:
    if len(text) > longest:
        raise ParameterError(name, expected=f"at most {longest} characters", found=f"{len(text)}")
