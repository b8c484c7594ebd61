"""How often somebody may try: counted in the database, so that several servers count together."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from rankwell.assess.errors import TooManyAttemptsError
from rankwell.assess.schema import AttemptRow
from rankwell.assess.secret import digest

WINDOW = timedelta(hours=1)


class Limit(NamedTuple):
    """So many times in an hour; `what` keeps the kinds apart."""

    what: str
    most: int


WRONG_CODES = Limit("wrong code", 30)  # a place
LINKS_TO_ADDRESS = Limit("links to address", 5)
LINKS_FROM_PLACE = Limit("links from place", 100)  # a classroom has one IP address


def check_attempts(session: Session, limit: Limit, who: str, now: datetime) -> None:
    """Raise where there were too many attempts in the last hour."""
    if attempts(session, limit, who, now) >= limit.most:
        raise TooManyAttemptsError("too many attempts: wait for an hour, then try again")


def attempts(session: Session, limit: Limit, who: str, now: datetime) -> int:
    """How many there were in the last hour."""
    wanted = select(func.count()).where(AttemptRow.key_hash == _key(limit, who), AttemptRow.at > now - WINDOW)
    return session.execute(wanted).scalar_one()


def note_attempt(session: Session, limit: Limit, who: str, now: datetime) -> None:
    """Count one more, and forget those that no longer count."""
    session.execute(delete(AttemptRow).where(AttemptRow.at <= now - WINDOW))
    session.add(AttemptRow(key_hash=_key(limit, who), at=now))


def _key(limit: Limit, who: str) -> str:
    return digest(f"{limit.what}\n{who}")
