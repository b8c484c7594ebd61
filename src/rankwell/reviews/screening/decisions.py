"""Decisions of reviewers: given, changed, undone; their outcomes: agreed, in conflict, resolved; and counts of them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from rankwell.core import ParameterError
from rankwell.reviews.screening import tables
from rankwell.reviews.screening.tables import DecisionRow, ProjectRow, ResolutionRow
from rankwell.store import Database, moment

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
        _check_length("reason", reason, LONGEST_REASON)
        _check_length("note", note, LONGEST_NOTE)
        given = Decision(record, answer, reason if answer is Answer.EXCLUDE else "", note)
        with tables.changing(self._database) as session:
            there = select(tables.RecordRow.id).where(tables.RecordRow.id == record, not_set_aside(tables.RecordRow.id))
            if session.scalars(there).first() is None:
                return False
            mine = select(DecisionRow).where(DecisionRow.reviewer == reviewer)
            before = session.scalars(mine.where(DecisionRow.record == record, DecisionRow.current)).first()
            if before is None:
                looked = (session.scalar(mine.with_only_columns(func.max(DecisionRow.looked))) or 0) + 1
            else:
                before.current, looked = False, before.looked
                session.flush()
            session.add(DecisionRow(reviewer=reviewer, **given._asdict(), at=moment(), looked=looked, current=True))
            _drop_resolution(session, record)
            version = count_change(session)
        self._remember(version, reviewer, record, given)
        return True

    def undo(self, reviewer: int) -> int | None:
        """Undo this reviewer's last answer. Returns its record, or None where there is nothing to undo."""
        mine = select(DecisionRow).where(DecisionRow.reviewer == reviewer, DecisionRow.undone_at.is_(None))
        newest = mine.order_by(DecisionRow.id.desc()).limit(1)
        with tables.changing(self._database) as session:
            last = session.scalars(newest).first()
            if last is None:
                return None
            last.undone_at, last.current = moment(), False
            session.flush()
            if (before := session.scalars(newest.where(DecisionRow.record == last.record)).first()) is not None:
                before.current = True
            _drop_resolution(session, last.record)
            count_change(session)  # the cache is not updated: undoing is rare
            return last.record

    def of(self, reviewer: int) -> dict[int, Decision]:
        """A reviewer's current decisions by record, in the order in which the records were first shown."""
        with self._database.read() as session:
            version = session.scalars(select(ProjectRow.changes)).one()
            with self._lock:
                if self._version == version and reviewer in self._remembered:
                    return dict(self._remembered[reviewer])
            rows = _current(session, DecisionRow.looked, DecisionRow.reviewer == reviewer)
            decisions = {decision.record: decision for _, decision in rows}
        with self._lock:
            if self._version is None or self._version < version:
                self._version, self._remembered = version, {}
            if self._version == version:
                self._remembered[reviewer] = dict(decisions)
        return decisions

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


def not_set_aside(record: InstrumentedAttribute[int]) -> ColumnElement[bool]:
    """Whether a record is to be screened, as a condition."""
    return record.not_in(select(tables.DuplicateRow.record).where(tables.DuplicateRow.state == SET_ASIDE))


def _current(session: Session, order: Any, *conditions: ColumnElement[bool]) -> Iterator[tuple[int, Decision]]:
    """Reviewers and their current decisions on records that are to be screened."""
    columns = (DecisionRow.reviewer, DecisionRow.record, DecisionRow.answer, DecisionRow.reason, DecisionRow.note)
    wanted = select(*columns).where(DecisionRow.current, not_set_aside(DecisionRow.record), *conditions)
    for reviewer, record, answer, reason, note in session.execute(wanted.order_by(order)):
        yield reviewer, Decision(record, Answer(answer), reason, note)


def _drop_resolution(session: Session, record: int) -> bool:
    """Delete the resolution of a record, if it has one."""
    there = (ResolutionRow.record == record, ResolutionRow.undone_at.is_(None))
    dropped = update(ResolutionRow).where(*there).values(undone_at=moment()).returning(ResolutionRow.id)
    return session.scalars(dropped).first() is not None


def _check_length(name: str, text: str, longest: int) -> None:
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
        decided: dict[int, dict[int, Decision]] = {}
        with self._database.read() as session:
            reviewers = session.scalar(select(func.count()).select_from(tables.ReviewerRow))
            for reviewer, decision in _current(session, DecisionRow.reviewer):
                decided.setdefault(decision.record, {})[reviewer] = decision
            resolved = {
                row.record: Resolution(Answer(row.answer), row.reason, row.by)
                for row in session.scalars(select(ResolutionRow).where(ResolutionRow.undone_at.is_(None)))
            }
        return {
            record: Outcome(record, answers, resolved.get(record))
            for record, answers in sorted(decided.items())
            if len(answers) == reviewers
        }

    def resolve(self, reviewer: int, record: int, answer: Answer, reason: str = "") -> bool:
        """Settle a conflict; False where there is none about this record."""
        _check_length("reason", reason, LONGEST_REASON)
        outcome = self.all().get(record)
        if outcome is None or not outcome.conflict:
            return False
        reason = reason if answer is Answer.EXCLUDE else ""
        with tables.changing(self._database) as session:
            _drop_resolution(session, record)
            session.add(ResolutionRow(record=record, by=reviewer, answer=answer, reason=reason, at=moment()))
        return True

    def reopen(self, record: int) -> bool:
        """Delete a resolution; False where there is none."""
        with tables.changing(self._database) as session:
            return _drop_resolution(session, record)


NO_REASON = "no reason given"


@dataclass(frozen=True)
class Prisma:
    """Counts of identified, excluded and included records (Page et al., "The PRISMA 2020 statement", BMJ 2021;372:n71).

    identified = duplicates + screened + not_screened
    screened   = included + excluded + maybe + conflicts
    """

    sources: Mapping[str, int]
    duplicates: int
    screened: int
    excluded: Mapping[str, int]
    included: int
    maybe: int
    conflicts: int

    @property
    def identified(self) -> int:
        """Number of records of all sources."""
        return sum(self.sources.values())

    @property
    def excluded_in_all(self) -> int:
        """Number of excluded records."""
        return sum(self.excluded.values())

    @property
    def not_screened(self) -> int:
        """Number of records that not every reviewer has decided yet."""
        return self.identified - self.duplicates - self.screened

    def to_dict(self) -> dict[str, Any]:
        """The counts and their totals for JSON."""
        totals = {"identified": self.identified, "not_screened": self.not_screened}
        return {**asdict(self), **totals, "excluded_in_all": self.excluded_in_all}


def prisma_counts(sources: Iterable[tuple[str, int]], duplicates: int, outcomes: Iterable[Outcome]) -> Prisma:
    """Count the records. Two files with the same name are counted together."""
    read: Counter[str] = Counter()
    for name, records in sources:
        read[name] += records
    answers: Counter[Answer | None] = Counter()
    reasons: Counter[str] = Counter()
    for outcome in outcomes:
        answers[outcome.answer] += 1
        if outcome.answer is Answer.EXCLUDE:
            reasons[outcome.reason or NO_REASON] += 1
    return Prisma(
        sources=dict(read),
        duplicates=duplicates,
        screened=answers.total(),
        excluded=dict(reasons.most_common()),
        included=answers[Answer.INCLUDE],
        maybe=answers[Answer.MAYBE],
        conflicts=answers[None],
    )


class Agreement(NamedTuple):
    """The share of equal answers, and Cohen's kappa (None where both gave the same answer to all records)."""

    records: int
    share: float
    kappa: float | None


def agreement(pairs: Sequence[tuple[str, str]]) -> Agreement | None:
    """Agreement over records that both have answered; None where there are none.

    kappa = (p_o - p_e) / (1 - p_e),  p_e = sum over answers of the product of both reviewers' shares of it

    Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 1960.
    """
    if not pairs:
        return None
    total = len(pairs)
    observed = sum(one == other for one, other in pairs) / total
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    expected = sum(first[answer] * second[answer] for answer in first) / total**2
    return Agreement(total, observed, None if expected == 1 else (observed - expected) / (1 - expected))
