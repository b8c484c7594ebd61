"""What the reviewers' answers come to: agreed, open, in conflict, resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, select

from rankwell.core import ParameterError
from rankwell.reviews.screening.answers import LONGEST_REASON, Answer
from rankwell.reviews.screening.store_database import Database, moment
from rankwell.reviews.screening.store_decisions import SET_ASIDE, Decision
from rankwell.reviews.screening.store_tables import DecisionRow, DuplicateRow, RecordRow, ResolutionRow, ReviewerRow


class Resolution(NamedTuple):
    """What was agreed on after a conflict."""

    answer: Answer
    reason: str
    by: int


@dataclass(frozen=True)
class Outcome:
    """A record that every reviewer has decided; `decisions` by reviewer. Others' answers are not told before that."""

    record: int
    decisions: Mapping[int, Decision]
    resolution: Resolution | None = None

    @property
    def conflict(self) -> bool:
        """Whether the reviewers differ, or are unsure together."""
        answers = {decision.answer for decision in self.decisions.values()}
        return len(answers) > 1 or (len(self.decisions) > 1 and Answer.MAYBE in answers)

    @property
    def open_conflict(self) -> bool:
        """Whether that is still to be resolved."""
        return self.conflict and self.resolution is None

    @property
    def answer(self) -> Answer | None:
        """What counts: the resolution, else what all said; None in an open conflict."""
        if self.resolution is not None:
            return self.resolution.answer
        return None if self.conflict else next(iter(self.decisions.values())).answer

    @property
    def reason(self) -> str:
        """Why it was excluded: as resolved, else the first reason that a reviewer gave."""
        if self.answer is not Answer.EXCLUDE:
            return ""
        if self.resolution is not None:
            return self.resolution.reason
        return next((decision.reason for decision in self.decisions.values() if decision.reason), "")


class Outcomes:
    """Puts the reviewers' answers together, and resolves where they differ."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[int, Outcome]:
        """For each record that all reviewers have decided and that is no duplicate, what came of it."""
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
        """Take a resolution back; False where there is none."""
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
