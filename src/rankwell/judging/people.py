"""Assessors: accounts, consent, roles, pausing and deletion; and the log of administrators' actions."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from rankwell.core import ParameterError
from rankwell.judging import schema
from rankwell.judging.assignment import stand_in_line
from rankwell.judging.schema import (
    AdjudicationRow,
    AssessorRow,
    AssignmentRow,
    InvitationRow,
    PersonRow,
    SignInLinkRow,
    TrainingAnswerRow,
)
from rankwell.judging.study import ENGLISH_LEVELS, AssessError, NoConsentError, NotThereError, PausedError, Study
from rankwell.store import Database, moment

# No vowels, so that no name is a word; no characters that look alike.
LETTERS = "bcdfghjkmnpqrstvwxz23456789"
NAME_LENGTH = 10


@dataclass(frozen=True)
class Account:
    """What the application knows of a signed-in assessor: nothing personal."""

    name: str
    english: int | None
    administrator: bool
    paused: bool
    consented: bool
    session: int
    adjudicator: bool = False


def random_name() -> str:
    """A random name for an assessor."""
    return "".join(secrets.choice(LETTERS) for _ in range(NAME_LENGTH))


def new_assessor(session: Session, now: datetime, *, administrator: bool = False) -> AssessorRow:
    """Add an assessor with a random name."""
    row = AssessorRow(name=random_name(), administrator=administrator, created_at=now, active_at=now)
    session.add(row)
    session.flush()
    return row


def find_assessor(session: Session, name: str, *, lock: bool = False) -> AssessorRow:
    """The assessor of that name; an error where there is none or their data were deleted."""
    wanted = select(AssessorRow).where(AssessorRow.name == name, AssessorRow.deleted_at.is_(None))
    row = session.scalars(wanted.with_for_update(key_share=True) if lock else wanted).first()
    if row is None:
        raise NotThereError("assessor: expected the name of an assessor of this study, found another")
    return row


def acting_assessor(session: Session, name: str, *, lock: bool = False) -> AssessorRow:
    """The assessor of that name; an error unless they have consented and are not paused."""
    row = find_assessor(session, name, lock=lock)
    if row.paused:
        raise PausedError("your work on this study has been paused; ask whoever invited you")
    if row.consented_at is None:
        raise NoConsentError("agree to the study's terms first")
    return row


def account_of(row: AssessorRow) -> Account:
    """The public account of an assessor's row."""
    consented = row.consented_at is not None
    return Account(row.name, row.english, row.administrator, row.paused, consented, row.session, row.adjudicator)


Detail = str | int | bool | None


def note_event(session: Session, now: datetime, kind: str, by: str | None, **details: Detail) -> None:
    """Add an event to the log."""
    session.add(schema.EventRow(at=now, kind=kind, assessor=by, details=details))


@dataclass(frozen=True)
class People:
    """The assessors of a study by their random names; `by` is the acting administrator."""

    database: Database
    study: Study
    clock: Callable[[], datetime] = moment

    def account(self, name: str) -> Account | None:
        """The account of that name; None where there is none (any more)."""
        with self.database.read() as session:
            try:
                return account_of(find_assessor(session, name))
            except NotThereError:
                return None

    def accounts(self) -> list[Account]:
        """All accounts, oldest first."""
        with self.database.read() as session:
            rows = session.scalars(select(AssessorRow).where(AssessorRow.deleted_at.is_(None)).order_by(AssessorRow.id))
            return [account_of(row) for row in rows]

    def address(self, name: str) -> str | None:
        """The assessor's e-mail address, for their own page and for administrators."""
        with self.database.read() as session:
            row = find_assessor(session, name)
            return session.scalars(select(PersonRow.email).where(PersonRow.assessor_id == row.id)).first()

    def consent(self, name: str) -> None:
        """Record the assessor's consent."""
        with self.database.write() as session:
            row = find_assessor(session, name, lock=True)
            row.consented_at = row.consented_at or self.clock()

    def set_english(self, name: str, level: int | None) -> None:
        """Record the assessor's own level of English."""
        known = [english.level for english in ENGLISH_LEVELS]
        if level is not None and level not in known:
            raise ParameterError("English level", expected=f"{known[0]} to {known[-1]}", found=level)
        with self.database.write() as session:
            find_assessor(session, name, lock=True).english = level

    def sign_out_everywhere(self, name: str) -> None:
        """End all of the assessor's sessions: those with an older number than the account."""
        with self.database.write() as session:
            find_assessor(session, name, lock=True).session += 1

    def pause(self, name: str, by: str | None = None) -> None:
        """Stop an assessor from grading; their open queries go to others."""
        self._set(name, "paused", value=True, by=by)

    def resume(self, name: str, by: str | None = None) -> None:
        """Let a paused assessor grade again."""
        self._set(name, "paused", value=False, by=by)

    def make_administrator(self, name: str, by: str | None = None) -> None:
        """Make an assessor an administrator."""
        self._set(name, "administrator", value=True, by=by)

    def make_assessor(self, name: str, by: str | None = None) -> None:
        """Make an administrator an ordinary assessor; an error for the last administrator."""
        self._set(name, "administrator", value=False, by=by)

    def make_adjudicator(self, name: str, by: str | None = None) -> None:
        """Let an assessor decide between grades of others that differ."""
        self._set(name, "adjudicator", value=True, by=by)

    def make_no_adjudicator(self, name: str, by: str | None = None) -> None:
        """Let an adjudicator only grade; what they decided stays."""
        self._set(name, "adjudicator", value=False, by=by)

    def delete(self, name: str, by: str | None = None) -> None:
        """Delete a person's address, codes, links and notes; also grades, unless the study keeps them anonymously."""
        with self.database.write() as session:
            row = find_assessor(session, name, lock=True)
            stand_in_line(session)
            _check_another_administrator(session, row)
            now = self.clock()
            emails = select(PersonRow.email).where(PersonRow.assessor_id == row.id)
            codes = select(InvitationRow.id).where(InvitationRow.assessor_id == row.id)
            links = SignInLinkRow.email.in_(emails) | SignInLinkRow.invitation_id.in_(codes)
            session.execute(delete(SignInLinkRow).where(links).execution_options(synchronize_session=False))
            session.execute(delete(InvitationRow).where(InvitationRow.assessor_id == row.id))
            session.execute(delete(PersonRow).where(PersonRow.assessor_id == row.id))
            trained = delete(TrainingAnswerRow).where(TrainingAnswerRow.assessor_id == row.id)
            session.execute(trained.execution_options(synchronize_session=False))
            mine, decided = AssignmentRow.assessor_id == row.id, AdjudicationRow.assessor_id == row.id
            if self.study.keep_grades:
                remarks = update(AdjudicationRow).where(decided).values(note=None)
                session.execute(remarks.execution_options(synchronize_session=False))
                shown = schema.PresentationRow.assignment_id.in_(select(AssignmentRow.id).where(mine))
                notes = update(schema.PresentationRow).where(shown).values(note=None)
                session.execute(notes.execution_options(synchronize_session=False))
                released = (
                    update(AssignmentRow).where(mine, AssignmentRow.state == schema.OPEN).values(state=schema.RELEASED)
                )
                session.execute(released.execution_options(synchronize_session=False))
                # A new name: sessions, logs and earlier exports no longer lead from the person to the grades.
                row.name, row.deleted_at, row.session = random_name(), now, row.session + 1
                row.administrator = row.adjudicator = False
            else:
                session.execute(delete(AdjudicationRow).where(decided).execution_options(synchronize_session=False))
                session.execute(delete(AssignmentRow).where(mine).execution_options(synchronize_session=False))
                session.delete(row)
            note_event(session, now, "person deleted", None if by == name else by)

    def events(self, most: int = 100) -> list[schema.EventRow]:
        """The last actions of administrators, newest first."""
        with self.database.read() as session:
            return list(session.scalars(select(schema.EventRow).order_by(schema.EventRow.id.desc()).limit(most)))

    def _set(self, name: str, what: str, *, value: bool, by: str | None) -> None:
        with self.database.write() as session:
            row = find_assessor(session, name, lock=True)
            stand_in_line(session)
            if getattr(row, what) == value:
                return
            if what == "administrator" and not value:
                _check_another_administrator(session, row)
            setattr(row, what, value)
            note_event(session, self.clock(), f"{what}: {'yes' if value else 'no'}", by, who=name)


def _check_another_administrator(session: Session, row: AssessorRow) -> None:
    """Raise an error if this is the last administrator."""
    others = select(AssessorRow.id).where(AssessorRow.administrator, AssessorRow.id != row.id)
    if row.administrator and session.scalars(others.where(AssessorRow.deleted_at.is_(None))).first() is None:
        raise AssessError("this is the last administrator: make somebody else one first")
