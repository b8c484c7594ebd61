"""Invitations: codes with which people enter a study, alone or as a group, without an e-mail address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from rankwell.assess.accounts import Account, account_of, moment, new_assessor
from rankwell.assess.attempts import WRONG_CODES, check_attempts, note_attempt
from rankwell.assess.database import Database
from rankwell.assess.errors import NotThereError
from rankwell.assess.events import note_event
from rankwell.assess.schema import AssessorRow, InvitationRow
from rankwell.assess.secret import code_hash, new_code
from rankwell.core import ParameterError

VALID_DAYS = 30
MOST_PLACES = 10_000


class Invitation(NamedTuple):
    """An invitation as an administrator sees it later: without its code, which nobody can show again."""

    number: int
    places: int
    taken: int
    administrator: bool
    created_at: datetime
    expires_at: datetime | None
    withdrawn: bool


class Welcome(NamedTuple):
    """Somebody who came in, and, the first time, a code with which they can come back on another device."""

    account: Account
    return_code: str | None


@dataclass(frozen=True)
class Invitations:
    """The invitations of a study."""

    database: Database
    clock: Callable[[], datetime] = moment

    def invite(
        self, places: int = 1, *, administrator: bool = False, days: int | None = VALID_DAYS, by: str | None = None
    ) -> str:
        """A new code for so many people, good for so many days; it is shown now and never again."""
        if not 1 <= places <= MOST_PLACES:
            raise ParameterError("places", expected=f"1 to {MOST_PLACES:,} people", found=places)
        if days is not None and days < 1:
            raise ParameterError("days", expected="a number of days, at least 1", found=days)
        code = new_code()
        with self.database.write() as session:
            now = self.clock()
            expires = None if days is None else now + timedelta(days=days)
            row = _invitation(code, now, places=places, administrator=administrator, expires_at=expires)
            session.add(row)
            note_event(session, now, "invited", by, places=places, administrator=administrator)
        return code

    def all(self) -> list[Invitation]:
        """The invitations there are, newest first; codes for coming back are not among them."""
        with self.database.read() as session:
            rows = session.scalars(
                select(InvitationRow).where(InvitationRow.assessor_id.is_(None)).order_by(InvitationRow.id.desc())
            )
            return [
                Invitation(
                    row.id,
                    row.places,
                    row.taken,
                    row.administrator,
                    row.created_at,
                    row.expires_at,
                    row.withdrawn_at is not None,
                )
                for row in rows
            ]

    def withdraw(self, number: int, by: str | None = None) -> None:
        """Make a code worthless; who came in with it stays."""
        with self.database.write() as session:
            row = session.get(InvitationRow, number, with_for_update=True)
            if row is None or row.assessor_id is not None:
                raise NotThereError(f"invitation: expected the number of one of this study, found {number}")
            row.withdrawn_at = row.withdrawn_at or self.clock()
            note_event(session, self.clock(), "invitation withdrawn", by, number=number)

    def redeem(self, code: str, place: str) -> Welcome:
        """Come in with a code: as a new assessor, or, with a code for coming back, as the one before.

        `place` is where the request comes from (an IP address), for counting wrong codes.
        """
        with self.database.write() as session:
            check_attempts(session, WRONG_CODES, place, self.clock())
            welcome = self._welcome(session, code)
            if welcome is None:
                note_attempt(session, WRONG_CODES, place, self.clock())
        if welcome is None:
            raise NotThereError("code: expected one that is valid and has places left, found another")
        return welcome

    def _welcome(self, session: Session, code: str) -> Welcome | None:
        now = self.clock()
        row = valid_invitation(session, code, now)
        if row is None:
            return None
        if row.assessor_id is not None:
            back = session.get_one(AssessorRow, row.assessor_id)
            return None if back.deleted_at else Welcome(account_of(back), None)
        row.taken += 1
        assessor = new_assessor(session, now, administrator=row.administrator)
        return_code = new_code()
        session.add(_invitation(return_code, now, assessor_id=assessor.id))
        return Welcome(account_of(assessor), return_code)


def valid_invitation(session: Session, code: str, now: datetime) -> InvitationRow | None:
    """The invitation of a code, held until the end of the transaction; None where it is of no use any more."""
    wanted = select(InvitationRow).where(InvitationRow.code_hash == code_hash(code)).with_for_update()
    row = session.scalars(wanted).first()
    if row is None or row.withdrawn_at or (row.expires_at and row.expires_at <= now):
        return None
    return row if row.assessor_id is not None or row.taken < row.places else None


def _invitation(
    code: str,
    now: datetime,
    *,
    places: int = 1,
    administrator: bool = False,
    assessor_id: int | None = None,
    expires_at: datetime | None = None,
) -> InvitationRow:
    return InvitationRow(
        code_hash=code_hash(code),
        places=places,
        administrator=administrator,
        assessor_id=assessor_id,
        created_at=now,
        expires_at=expires_at,
    )
