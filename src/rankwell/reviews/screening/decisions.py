"""Decisions of reviewers: given, changed, undone; and their outcomes: agreed, open, in conflict, resolved."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from rankwell.core import ParameterError
from rankwell.reviews.screening.tables import (
    Database,
    DecisionRow,
    DuplicateRow,
    ProjectRow,
    RecordRow,
    ResolutionRow,
    ReviewerRow,
    moment,
)

LONGEST_NOTE = 2000
LONGEST_REASON = 120


class Answer(StrEnum):
    """A reviewer's answer. `maybe` keeps a record for later; the ranking does not learn from it."""

    INCLUDE = "include"
    EXCLUDE = "exclude"
    MAYBE = "maybe"


SET_ASIDE = "set aside"


class Decision(NamedTuple):
    """A reviewer's current answer on a record."""

    record: int
    answer: Answer
    reason: str
    note: str


class Decisions:
    """The reviewers' decisions; callers show one reviewer's to another only after both decided.

    Every page needs all of a reviewer's decisions. They are cached as long as the project's
    count of changes stays the same.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._remembered: dict[int, dict[int, Decision]] = {}
        self._version: int | None = None
        self._lock = threading.Lock()

    def decide(self, reviewer: int, record: int, answer: Answer, reason: str = "", note: str = "") -> bool:
        """Save an answer to the disk. False where there is no such record to screen."""
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
        """Undo this reviewer's last answer. Returns its record, or None where there is nothing to undo."""
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
            count_change(session)  # the cache is not updated: undoing is rare
            return last.record

    def of(self, reviewer: int) -> dict[int, Decision]:
        """A reviewer's current decisions by record, in the order in which the records were first shown."""
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
        """Add a decision to the cache, or clear it where something else changed in between."""
        with self._lock:
            if self._version != version - 1:
                self._version, self._remembered = None, {}
                return
            self._version = version
            if reviewer in self._remembered:
                self._remembered[reviewer][record] = given

    def history(self) -> int:
        """Number of all answers ever given, including changed and undone ones."""
        with self._database.read() as session:
            return session.scalar(select(func.count()).select_from(DecisionRow)) or 0


def count_change(session: Session) -> int:
    """Count a change that decisions depend on. Returns the new count."""
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
    """Delete the resolution of a record, because an answer changed."""
    mine = (ResolutionRow.record == record, ResolutionRow.undone_at.is_(None))
    session.execute(update(ResolutionRow).where(*mine).values(undone_at=moment()))


def _check(text: str, longest: int, name: str) -> None:
    if len(text) > longest:
        raise ParameterError(name, expected=f"at most {longest} characters", found=f"{len(text)}")


class Resolution(NamedTuple):
    """The agreed answer after a conflict."""

    answer: Answer
    reason: str
    by: int


@dataclass(frozen=True)
class Outcome:
    """A record that every reviewer has decided; `decisions` by reviewer."""

    record: int
    decisions: Mapping[int, Decision]
    resolution: Resolution | None = None

    @property
    def conflict(self) -> bool:
        """Whether the reviewers' answers differ or are all `maybe`."""
        answers = {decision.answer for decision in self.decisions.values()}
        return len(answers) > 1 or (len(self.decisions) > 1 and Answer.MAYBE in answers)

    @property
    def open_conflict(self) -> bool:
        """Whether there is a conflict without a resolution."""
        return self.conflict and self.resolution is None

    @property
    def answer(self) -> Answer | None:
        """The final answer: the resolution, else the common answer; None in an open conflict."""
        if self.resolution is not None:
            return self.resolution.answer
        return None if self.conflict else next(iter(self.decisions.values())).answer

    @property
    def reason(self) -> str:
        """The reason of exclusion: the resolution's, else the first that a reviewer gave."""
        if self.answer is not Answer.EXCLUDE:
            return ""
        if self.resolution is not None:
            return self.resolution.reason
        return next((decision.reason for decision in self.decisions.values() if decision.reason), "")


class Outcomes:
    """Combines the reviewers' answers, and resolves conflicts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[int, Outcome]:
        """The outcome of each record that all reviewers have decided and that is no duplicate."""
        with self._database.read() as session:
            reviewers = list(session.scalars(select(ReviewerRow.id).order_by(ReviewerRow.id)))
            columns = (
                DecisionRow.record,
                DecisionRow.reviewer,
                DecisionRow.answer,
                DecisionRow.reason,
                DecisionRow.note,
            )
            rows = session.execute(
                select(*columns).where(DecisionRow.current).order_by(DecisionRow.record, DecisionRow.reviewer)
            )
            decided: dict[int, dict[int, Decision]] = {}
            for record, reviewer, answer, reason, note in rows:
                decided.setdefault(record, {})[reviewer] = Decision(record, Answer(answer), reason, note)
            resolved = {
                row.record: Resolution(Answer(row.answer), row.reason, row.by)
                for row in session.scalars(select(ResolutionRow).where(ResolutionRow.undone_at.is_(None)))
            }
            aside = set(session.scalars(select(DuplicateRow.record).where(DuplicateRow.state == SET_ASIDE)))
        return {
            record: Outcome(record, answers, resolved.get(record))
            for record, answers in decided.items()
            if len(answers) == len(reviewers) and record not in aside
        }

    def resolve(self, reviewer: int, record: int, answer: Answer, reason: str = "") -> bool:
        """Settle a conflict; False where there is none about this record."""
        if len(reason) > LONGEST_REASON:
            raise ParameterError("reason", expected=f"at most {LONGEST_REASON} characters", found=len(reason))
        outcome = self.all().get(record)
        if outcome is None or not outcome.conflict:
            return False
        with self._database.write() as session:
            _drop(session.scalars(select(ResolutionRow).where(_mine(record))).all())
            session.flush()
            reason = reason if answer is Answer.EXCLUDE else ""
            session.add(ResolutionRow(record=record, by=reviewer, answer=answer, reason=reason, at=moment()))
        return True

    def reopen(self, record: int) -> bool:
        """Delete a resolution; False where there is none."""
        with self._database.write() as session:
            if session.get(RecordRow, record) is None:
                return False
            found = session.scalars(select(ResolutionRow).where(_mine(record))).all()
            _drop(found)
        return bool(found)


def _mine(record: int) -> ColumnElement[bool]:
    return (ResolutionRow.record == record) & ResolutionRow.undone_at.is_(None)


def _drop(rows: Sequence[ResolutionRow]) -> None:
    for row in rows:
        row.undone_at = moment()
