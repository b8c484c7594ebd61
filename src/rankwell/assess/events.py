"""A record of what administrators did, which holds nothing personal."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from rankwell.assess.schema import EventRow

Detail = str | int | bool | None


class Event(NamedTuple):
    """What happened, when, and whose random name did it."""

    at: datetime
    kind: str
    by: str | None
    details: dict[str, Detail]


def note_event(session: Session, now: datetime, kind: str, by: str | None, **details: Detail) -> None:
    """Write an event down."""
    session.add(EventRow(at=now, kind=kind, assessor=by, details=details))


def recent_events(session: Session, most: int = 100) -> list[Event]:
    """The last events, newest first."""
    rows = session.scalars(select(EventRow).order_by(EventRow.id.desc()).limit(most))
    return [Event(row.at, row.kind, row.assessor, row.details) for row in rows]
