"""Signing in by a link that is mailed: good once, for a while, and silent about who is known here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from rankwell.assess.accounts import Account, account_of, moment, new_assessor
from rankwell.assess.attempts import (
    LINKS_FROM_PLACE,
    LINKS_TO_ADDRESS,
    WRONG_CODES,
    attempts,
    check_attempts,
    note_attempt,
)
from rankwell.assess.database import Database
from rankwell.assess.errors import NotThereError
from rankwell.assess.invitations import valid_invitation
from rankwell.assess.schema import AssessorRow, InvitationRow, PersonRow, SignInLinkRow
from rankwell.assess.secret import digest, new_token
from rankwell.assess.study import Study
from rankwell.core import ParameterError

LINK_LASTS = timedelta(minutes=30)
LONGEST_ADDRESS = 254
# Nothing that could begin another header or address in a mail; whether it exists only the mail can tell.
ADDRESS = re.compile(r"""[^\s@<>()\[\],;:"'\\\x00-\x1f\x7f]+@[^\s@<>()\[\],;:"'\\\x00-\x1f\x7f]+""")


def checked_address(email: str) -> str:
    """The address as we compare it: without spaces around it, in small letters."""
    address = email.strip().lower()
    if len(address) > LONGEST_ADDRESS or not ADDRESS.fullmatch(address):
        raise ParameterError("e-mail", expected="an address such as name@example.org", found=email[:LONGEST_ADDRESS])
    return address


@dataclass(frozen=True)
class SignIn:
    """Links by e-mail. Sending the mail is the application's part."""

    database: Database
    study: Study
    clock: Callable[[], datetime] = moment

    def request_link(self, email: str, place: str, code: str | None = None) -> str | None:
        """A token to be mailed to the address, or None where nothing is to be mailed; the page says the same for both.

        Known people get one; others where the study is open to all, or with an invitation `code`. `place` is where
        the request comes from (an IP address): too many from one place raise `TooManyAttemptsError`.
        """
        address = checked_address(email)
        with self.database.write() as session:
            now = self.clock()
            check_attempts(session, LINKS_FROM_PLACE, place, now)
            note_attempt(session, LINKS_FROM_PLACE, place, now)
            enough = attempts(session, LINKS_TO_ADDRESS, address, now) >= LINKS_TO_ADDRESS.most
            note_attempt(session, LINKS_TO_ADDRESS, address, now)
            session.execute(delete(SignInLinkRow).where(SignInLinkRow.expires_at <= now))
            invitation = None if code is None else valid_invitation(session, code, now)
            known = session.get(PersonRow, address) is not None
            if enough or not (known or self.study.open_to_all or invitation):
                return None
            token = new_token()
            session.add(
                SignInLinkRow(
                    token_hash=digest(token),
                    email=address,
                    invitation_id=invitation.id if invitation and not known else None,
                    expires_at=now + LINK_LASTS,
                )
            )
            return token

    def sign_in(self, token: str, place: str) -> Account:
        """The account behind a mailed token, made where the address is new; the token is used up.

        Mail programs open links to look at them: call this for a button on the linked page, not for the page itself.
        """
        with self.database.write() as session:
            check_attempts(session, WRONG_CODES, place, self.clock())
            account = self._account(session, token)
            if account is None:
                note_attempt(session, WRONG_CODES, place, self.clock())
        if account is None:
            raise NotThereError("link: expected one that was not used and is not too old, found another")
        return account

    def _account(self, session: Session, token: str) -> Account | None:
        now = self.clock()
        used_up = delete(SignInLinkRow).where(SignInLinkRow.token_hash == digest(token))
        found = session.execute(
            used_up.returning(SignInLinkRow.email, SignInLinkRow.invitation_id, SignInLinkRow.expires_at)
        ).first()
        if found is None or found.expires_at <= now:
            return None
        person = session.get(PersonRow, found.email)
        if person is None:
            person = self._newcomer(session, found.email, found.invitation_id, now)
        return None if person is None else account_of(session.get_one(AssessorRow, person.assessor_id))

    def _newcomer(self, session: Session, email: str, invitation_id: int | None, now: datetime) -> PersonRow | None:
        administrator, assessor_id = False, None
        if invitation_id is not None:
            invitation = session.get_one(InvitationRow, invitation_id, with_for_update=True)
            if invitation.withdrawn_at or (invitation.assessor_id is None and invitation.taken >= invitation.places):
                return None
            if invitation.assessor_id is None:
                invitation.taken += 1
            administrator, assessor_id = invitation.administrator, invitation.assessor_id
        elif not self.study.open_to_all:
            return None
        if assessor_id is None:
            assessor_id = new_assessor(session, now, administrator=administrator).id
        elif session.scalars(select(PersonRow).where(PersonRow.assessor_id == assessor_id)).first():
            return None  # who comes back with a code has an address already, and this is another
        person = PersonRow(email=email, assessor_id=assessor_id, created_at=now)
        session.add(person)
        session.flush()
        return person
