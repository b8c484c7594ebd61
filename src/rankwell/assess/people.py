"""Assessors as administrators deal with them: consent, level of English, pausing, roles, deletion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from rankwell.assess.accounts import Account, account_of, find_assessor, moment, random_name
from rankwell.assess.assignment import stand_in_line
from rankwell.assess.database import Database
from rankwell.assess.english import ENGLISH_LEVELS
from rankwell.assess.errors import AssessError, NotThereError
from rankwell.assess.events import Event, note_event, recent_events
from rankwell.assess.schema import (
    OPEN,
    RELEASED,
    AssessorRow,
    AssignmentRow,
    InvitationRow,
    PersonRow,
    PresentationRow,
    SignInLinkRow,
)
from rankwell.assess.study import Study
from rankwell.core import ParameterError


@dataclass(frozen=True)
class People:
    """The people of a study, by their random names; `by` is the administrator who acts."""

    database: Database
    study: Study
    clock: Callable[[], datetime] = moment

    def account(self, name: str) -> Account | None:
        """Somebody's account as it is now, for a signed-in request; None where there is none any more."""
        with self.database.read() as session:
            try:
                return account_of(find_assessor(session, name))
            except NotThereError:
                return None

    def accounts(self) -> list[Account]:
        """Everyone, in the order in which they came."""
        with self.database.read() as session:
            rows = session.scalars(select(AssessorRow).where(AssessorRow.deleted_at.is_(None)).order_by(AssessorRow.id))
            return [account_of(row) for row in rows]

    def address(self, name: str) -> str | None:
        """The e-mail address of somebody, for their own page and for administrators."""
        with self.database.read() as session:
            row = find_assessor(session, name)
            return session.scalars(select(PersonRow.email).where(PersonRow.assessor_id == row.id)).first()

    def consent(self, name: str) -> None:
        """Write down that somebody agrees to the study's consent text."""
        with self.database.write() as session:
            row = find_assessor(session, name, lock=True)
            row.consented_at = row.consented_at or self.clock()

    def set_english(self, name: str, level: int | None) -> None:
        """Write down how well somebody says they know English."""
        known = [english.level for english in ENGLISH_LEVELS]
        if level is not None and level not in known:
            raise ParameterError("English level", expected=f"{known[0]} to {known[-1]}", found=level)
        with self.database.write() as session:
            find_assessor(session, name, lock=True).english = level

    def sign_out_everywhere(self, name: str) -> None:
        """End all sessions of somebody: those that carry an older number than the account."""
        with self.database.write() as session:
            find_assessor(session, name, lock=True).session += 1

    def pause(self, name: str, by: str | None = None) -> None:
        """Let somebody grade no more for now; their open queries go to others."""
        self._set(name, "paused", value=True, by=by)

    def resume(self, name: str, by: str | None = None) -> None:
        """Let somebody grade again."""
        self._set(name, "paused", value=False, by=by)

    def make_administrator(self, name: str, by: str | None = None) -> None:
        """Let somebody administer the study."""
        self._set(name, "administrator", value=True, by=by)

    def make_assessor(self, name: str, by: str | None = None) -> None:
        """Let somebody administer the study no more; the last administrator stays one."""
        self._set(name, "administrator", value=False, by=by)

    def delete(self, name: str, by: str | None = None) -> None:
        """Remove a person: address, codes, links and notes; grades too unless the study keeps them without a name."""
        with self.database.write() as session:
            row = find_assessor(session, name, lock=True)
            stand_in_line(session)
            if row.administrator:
                _check_another_administrator(session, row)
            now = self.clock()
            for email in session.scalars(select(PersonRow.email).where(PersonRow.assessor_id == row.id)).all():
                session.execute(delete(SignInLinkRow).where(SignInLinkRow.email == email))
            codes = select(InvitationRow.id).where(InvitationRow.assessor_id == row.id)
            session.execute(delete(SignInLinkRow).where(SignInLinkRow.invitation_id.in_(codes)))
            session.execute(delete(InvitationRow).where(InvitationRow.assessor_id == row.id))
            session.execute(delete(PersonRow).where(PersonRow.assessor_id == row.id))
            mine = AssignmentRow.assessor_id == row.id
            if self.study.keep_grades:
                work = select(AssignmentRow.id).where(mine)
                notes = update(PresentationRow).where(PresentationRow.assignment_id.in_(work)).values(note=None)
                session.execute(notes.execution_options(synchronize_session=False))
                released = update(AssignmentRow).where(mine, AssignmentRow.state == OPEN).values(state=RELEASED)
                session.execute(released.execution_options(synchronize_session=False))
                # A new name: sessions, logs and earlier exports no longer lead from the person to the grades.
                row.name, row.deleted_at, row.session, row.administrator = random_name(), now, row.session + 1, False
            else:
                session.execute(delete(AssignmentRow).where(mine).execution_options(synchronize_session=False))
                session.delete(row)
            note_event(session, now, "person deleted", None if by == name else by)

    def events(self, most: int = 100) -> list[Event]:
        """What administrators did lately, newest first."""
        with self.database.read() as session:
            return recent_events(session, most)

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
    """Raise where this is the last administrator, without whom nobody could look after the study."""
    others = select(func.count()).where(
        AssessorRow.administrator, AssessorRow.deleted_at.is_(None), AssessorRow.id != row.id
    )
    if not session.execute(others).scalar_one():
        raise AssessError("this is the last administrator: make somebody else one first")
