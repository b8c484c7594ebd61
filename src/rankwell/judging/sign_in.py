"""Signing in to a study: one-time links by mail, invitation codes, and limits on attempts."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from rankwell.core import ParameterError
from rankwell.judging.people import Account, account_of, new_assessor, note_event
from rankwell.judging.schema import AssessorRow, AttemptRow, InvitationRow, PersonRow, SignInLinkRow
from rankwell.judging.study import NotThereError, Study, TooManyAttemptsError
from rankwell.store import Database, moment

T = TypeVar("T")

# Crockford's alphabet: no I, L, O and U, so that a code can be read out and typed in.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CODE_LENGTH = 16  # 80 bits: nobody guesses one
GROUP = 4
MISREAD = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})


def new_code() -> str:
    """A code that people can type: four groups of four characters."""
    letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
    return "-".join(letters[at : at + GROUP] for at in range(0, CODE_LENGTH, GROUP))


def code_hash(code: str) -> str:
    """The hash of a code, however it was typed. It needs no salt: a code is random and long."""
    return digest(code.strip().upper().translate(MISREAD))


def digest(text: str) -> str:
    """SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


WINDOW = timedelta(hours=1)


class Limit(NamedTuple):
    """A maximum number of attempts per hour; `what` is the kind of attempt."""

    what: str
    most: int


WRONG_CODES = Limit("wrong code", 30)  # a place
LINKS_TO_ADDRESS = Limit("links to address", 5)
LINKS_FROM_PLACE = Limit("links from place", 100)  # a classroom has one IP address


def attempts(session: Session, limit: Limit, who: str, now: datetime) -> int:
    """Number of attempts in the last hour."""
    key = digest(f"{limit.what}\n{who}")
    wanted = select(func.count()).where(AttemptRow.key_hash == key, AttemptRow.at > now - WINDOW)
    return session.execute(wanted).scalar_one()


def check_attempts(session: Session, limit: Limit, who: str, now: datetime) -> None:
    """Raise `TooManyAttemptsError` where the limit of the last hour is reached."""
    if attempts(session, limit, who, now) >= limit.most:
        raise TooManyAttemptsError("too many attempts: wait for an hour, then try again")


def note_attempt(session: Session, limit: Limit, who: str, now: datetime) -> None:
    """Record an attempt, and delete those older than an hour."""
    session.execute(delete(AttemptRow).where(AttemptRow.at <= now - WINDOW))
    session.add(AttemptRow(key_hash=digest(f"{limit.what}\n{who}"), at=now))


def _attempt(
    database: Database, place: str, now: datetime, enter: Callable[[Session, datetime], T | None], refusal: str
) -> T:
    """Let somebody in from a place, whose failed attempts are counted."""
    with database.write() as session:
        check_attempts(session, WRONG_CODES, place, now)
        entered = enter(session, now)
        if entered is None:
            note_attempt(session, WRONG_CODES, place, now)
    if entered is None:
        raise NotThereError(refusal)
    return entered


VALID_DAYS = 30
MOST_PLACES = 10_000


class Welcome(NamedTuple):
    """A signed-in account and, the first time, a return code for other devices."""

    account: Account
    return_code: str | None


@dataclass(frozen=True)
class Invitations:
    """Create, list, withdraw and redeem the invitations of a study."""

    database: Database
    clock: Callable[[], datetime] = moment

    def invite(
        self, places: int = 1, *, administrator: bool = False, days: int | None = VALID_DAYS, by: str | None = None
    ) -> str:
        """Create a code for `places` people, valid for `days` days; only this call shows it."""
        if not 1 <= places <= MOST_PLACES:
            raise ParameterError("places", expected=f"1 to {MOST_PLACES:,} people", found=places)
        if days is not None and days < 1:
            raise ParameterError("days", expected="a number of days, at least 1", found=days)
        code = new_code()
        with self.database.write() as session:
            now = self.clock()
            expires = None if days is None else now + timedelta(days=days)
            new = InvitationRow(code_hash=code_hash(code), places=places, administrator=administrator)
            new.created_at, new.expires_at = now, expires
            session.add(new)
            note_event(session, now, "invited", by, places=places, administrator=administrator)
        return code

    def waiting_administrator(self) -> InvitationRow | None:
        """The valid invitation of an administrator that nobody has used yet."""
        now = self.clock()
        return next(
            (
                row
                for row in self.all()
                if row.administrator
                and not row.withdrawn_at
                and row.taken < row.places
                and (row.expires_at is None or row.expires_at > now)
            ),
            None,
        )

    def all(self) -> list[InvitationRow]:
        """All invitations, newest first, without return codes."""
        wanted = select(InvitationRow).where(InvitationRow.assessor_id.is_(None))
        with self.database.read() as session:
            return list(session.scalars(wanted.order_by(InvitationRow.id.desc())))

    def withdraw(self, number: int, by: str | None = None) -> None:
        """Invalidate a code; accounts made with it stay."""
        with self.database.write() as session:
            row = session.get(InvitationRow, number, with_for_update=True)
            if row is None or row.assessor_id is not None:
                raise NotThereError(f"invitation: expected the number of one of this study, found {number}")
            row.withdrawn_at = row.withdrawn_at or self.clock()
            note_event(session, self.clock(), "invitation withdrawn", by, number=number)

    def redeem(self, code: str, place: str) -> Welcome:
        """Sign in with a code: as a new assessor, or with a return code as its owner.

        `place` is where the request comes from (an IP address), for counting wrong codes.
        """
        refusal = "code: expected one that is valid and has places left, found another"
        return _attempt(self.database, place, self.clock(), lambda *when: self._welcome(code, *when), refusal)

    def _welcome(self, code: str, session: Session, now: datetime) -> Welcome | None:
        row = valid_invitation(session, code, now)
        if row is None:
            return None
        if row.assessor_id is not None:
            back = session.get_one(AssessorRow, row.assessor_id)
            return None if back.deleted_at else Welcome(account_of(back), None)
        row.taken += 1
        assessor = new_assessor(session, now, administrator=row.administrator)
        return_code = new_code()
        session.add(InvitationRow(code_hash=code_hash(return_code), assessor_id=assessor.id, created_at=now))
        return Welcome(account_of(assessor), return_code)


def valid_invitation(session: Session, code: str, now: datetime) -> InvitationRow | None:
    """The valid invitation of a code, locked until the end of the transaction; None where there is none."""
    wanted = select(InvitationRow).where(InvitationRow.code_hash == code_hash(code)).with_for_update()
    row = session.scalars(wanted).first()
    if row is None or row.withdrawn_at or (row.expires_at and row.expires_at <= now):
        return None
    return row if row.assessor_id is not None or row.taken < row.places else None


LINK_LASTS = timedelta(minutes=30)
LONGEST_ADDRESS = 254
# No character that could start another header or address in a mail.
ADDRESS = re.compile(r"""[^\s@<>()\[\],;:"\\\x00-\x1f\x7f]+@[^\s@<>()\[\],;:"'\\\x00-\x1f\x7f]+""")


def checked_address(email: str) -> str:
    """The address in lower case without spaces around it; an error where it is malformed."""
    address = email.strip().lower()
    if len(address) > LONGEST_ADDRESS or not ADDRESS.fullmatch(address):
        raise ParameterError("e-mail", expected="an address such as name@example.org", found=email[:LONGEST_ADDRESS])
    return address


@dataclass(frozen=True)
class SignIn:
    """Signing in by mailed links; the application sends the mails."""

    database: Database
    study: Study
    clock: Callable[[], datetime] = moment

    def request_link(self, email: str, place: str, code: str | None = None) -> str | None:
        """A token to mail to the address, or None where nothing is mailed; the page must say the same for both.

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
            token = secrets.token_urlsafe(32)
            link = SignInLinkRow(token_hash=digest(token), email=address, expires_at=now + LINK_LASTS)
            link.invitation_id = invitation.id if invitation and not known else None
            session.add(link)
            return token

    def sign_in(self, token: str, place: str) -> Account:
        """The account of a mailed token, created where the address is new; the token is used up.

        Mail programs open links to look at them: call this for a button on the linked page, not for the page itself.
        """
        refusal = "link: expected one that was not used and is not too old, found another"
        return _attempt(self.database, place, self.clock(), lambda *when: self._account(token, *when), refusal)

    def _account(self, token: str, session: Session, now: datetime) -> Account | None:
        used_up = delete(SignInLinkRow).where(SignInLinkRow.token_hash == digest(token))
        columns = (SignInLinkRow.email, SignInLinkRow.invitation_id, SignInLinkRow.expires_at)
        link = session.execute(used_up.returning(*columns)).first()
        if link is None or link.expires_at <= now:
            return None
        person = session.get(PersonRow, link.email) or self._newcomer(session, link.email, link.invitation_id, now)
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
            return None  # the code's owner already has another address
        person = PersonRow(email=email, assessor_id=assessor_id, created_at=now)
        session.add(person)
        session.flush()
        return person
