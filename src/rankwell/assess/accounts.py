"""Assessors by their random names."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from rankwell.assess.errors import NoConsentError, NotThereError, PausedError
from rankwell.assess.schema import AssessorRow

# No vowels, so that no name is a word; no characters that look alike.
LETTERS = "bcdfghjkmnpqrstvwxz23456789"
NAME_LENGTH = 10


@dataclass(frozen=True)
class Account:
    """What the application may know of somebody who is signed in: nothing that tells who they are."""

    name: str
    english: int | None
    administrator: bool
    paused: bool
    consented: bool
    session: int


def moment() -> datetime:
    """Now."""
    return datetime.now(UTC)


def random_name() -> str:
    """A name that says nothing about whom it names."""
    return "".join(secrets.choice(LETTERS) for _ in range(NAME_LENGTH))


def new_assessor(session: Session, now: datetime, *, administrator: bool = False) -> AssessorRow:
    """An assessor with a name of their own."""
    row = AssessorRow(name=random_name(), administrator=administrator, created_at=now, active_at=now)
    session.add(row)
    session.flush()
    return row


def find_assessor(session: Session, name: str, *, lock: bool = False) -> AssessorRow:
    """The assessor of that name, unless their data were deleted."""
    wanted = select(AssessorRow).where(AssessorRow.name == name, AssessorRow.deleted_at.is_(None))
    row = session.scalars(wanted.with_for_update(key_share=True) if lock else wanted).first()
    if row is None:
        raise NotThereError("assessor: expected the name of an assessor of this study, found another")
    return row


def acting_assessor(session: Session, name: str, *, lock: bool = False) -> AssessorRow:
    """The assessor of that name, who has agreed to the study's terms and may work now."""
    row = find_assessor(session, name, lock=lock)
    if row.paused:
        raise PausedError("your work on this study has been paused; ask whoever invited you")
    if row.consented_at is None:
        raise NoConsentError("agree to the study's terms first")
    return row


def account_of(row: AssessorRow) -> Account:
    """An assessor's row as others may see it."""
    return Account(row.name, row.english, row.administrator, row.paused, row.consented_at is not None, row.session)
