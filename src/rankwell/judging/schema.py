"""The tables of a study's database.

One database holds one study. E-mail addresses stand in `people` and `sign_in_links` and nowhere else; everything that
is exported refers to `assessors`, who have random ids.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    DateTime,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

OPEN, DONE, RELEASED = "open", "done", "released"
NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself in a column of this type only


class Instant(TypeDecorator[datetime]):
    """A time in UTC. SQLite stores no time zone, so reading adds it."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 -- SQLAlchemy's signature
        """Convert to UTC without a time zone, for storing."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 -- SQLAlchemy's signature
        """Add the time zone to a stored time."""
        return None if value is None else value.replace(tzinfo=UTC)


class Table(DeclarativeBase):
    """Base of all tables: names of constraints and column types of Python's types."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {datetime: Instant, dict[str, Any]: JSON, dict[str, str]: JSON, str: Text}  # noqa: RUF012 -- SQLAlchemy reads it off the class


class StudyRow(Table):
    """The settings of this database's study."""

    __tablename__ = "study"
    __table_args__ = (CheckConstraint("id = 1", name="one_study"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    settings: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class QueryRow(Table):
    """A query to be assessed."""

    __tablename__ = "queries"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    qid: Mapped[str] = mapped_column(unique=True)
    text: Mapped[str]
    stratum: Mapped[str | None]


class PassageRow(Table):
    """A passage with its texts by field name, in reading order."""

    __tablename__ = "passages"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    docno: Mapped[str] = mapped_column(unique=True)
    fields: Mapped[dict[str, str]]


class PoolRow(Table):
    """A passage to be graded for a query; `original` is its grade in the earlier judgments."""

    __tablename__ = "pool"

    query_id: Mapped[int] = mapped_column(ForeignKey("queries.id"), primary_key=True)
    passage_id: Mapped[int] = mapped_column(ForeignKey("passages.id"), primary_key=True, index=True)
    rank: Mapped[int | None]
    original: Mapped[int | None]


class AssessorRow(Table):
    """An assessor or administrator with a random id. Raising `session` ends the existing sessions."""

    __tablename__ = "assessors"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(32), unique=True)
    english: Mapped[int | None]
    administrator: Mapped[bool] = mapped_column(default=False)
    paused: Mapped[bool] = mapped_column(default=False)
    session: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    active_at: Mapped[datetime]
    consented_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]


class PersonRow(Table):
    """The e-mail address of an assessor, kept apart from everything else."""

    __tablename__ = "people"

    email: Mapped[str] = mapped_column(String(320), primary_key=True)
    assessor_id: Mapped[int] = mapped_column(ForeignKey("assessors.id"), unique=True)
    created_at: Mapped[datetime]


class InvitationRow(Table):
    """A code for `places` people, or a return code of one assessor (`assessor_id`). Only its hash is kept."""

    __tablename__ = "invitations"

    id: Mapped[int] = mapped_column(primary_key=True)
    code_hash: Mapped[str] = mapped_column(String(64), unique=True)
    places: Mapped[int]
    taken: Mapped[int] = mapped_column(default=0)
    administrator: Mapped[bool] = mapped_column(default=False)
    assessor_id: Mapped[int | None] = mapped_column(ForeignKey("assessors.id"), index=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]


class SignInLinkRow(Table):
    """A mailed link, valid once and for a limited time. Only the hash of its token is kept."""

    __tablename__ = "sign_in_links"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    email: Mapped[str] = mapped_column(String(320), index=True)
    invitation_id: Mapped[int | None] = mapped_column(ForeignKey("invitations.id"), index=True)
    expires_at: Mapped[datetime] = mapped_column(index=True)


class AttemptRow(Table):
    """An attempt to sign in, kept as long as it counts; addresses are hashed."""

    __tablename__ = "attempts"
    __table_args__ = (Index(None, "key_hash", "at"),)

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    key_hash: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(index=True)


class AssignmentRow(Table):
    """A query assigned to an assessor: its round, its set, and its position among all of theirs."""

    __tablename__ = "assignments"
    __table_args__ = (
        UniqueConstraint("assessor_id", "query_id"),
        UniqueConstraint("assessor_id", "position"),
        CheckConstraint("state IN ('open', 'done', 'released')", name="state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    assessor_id: Mapped[int] = mapped_column(ForeignKey("assessors.id"))
    query_id: Mapped[int] = mapped_column(ForeignKey("queries.id"), index=True)
    position: Mapped[int]
    round: Mapped[int]
    set: Mapped[int]
    state: Mapped[str] = mapped_column(String(8), default=OPEN)
    assigned_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class PresentationRow(Table):
    """The position of a passage in an assignment's random order, when it was last shown, and the assessor's note."""

    __tablename__ = "presentations"
    __table_args__ = (UniqueConstraint("assignment_id", "passage_id"),)

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    passage_id: Mapped[int] = mapped_column(ForeignKey("passages.id"))
    shown_at: Mapped[datetime | None]
    note: Mapped[str | None]


class GradeRow(Table):
    """An answer; `grade` None is "I can't tell". Rows are only added: the newest one that is not undone is valid."""

    __tablename__ = "grades"
    __table_args__ = (
        ForeignKeyConstraint(
            ["assignment_id", "position"],
            ["presentations.assignment_id", "presentations.position"],
            ondelete="CASCADE",
        ),
        Index(None, "assignment_id", "position"),
    )

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    assignment_id: Mapped[int]
    position: Mapped[int]
    grade: Mapped[int | None]
    milliseconds: Mapped[int | None]
    given_at: Mapped[datetime]
    undone_at: Mapped[datetime | None]


class EventRow(Table):
    """What an administrator did, and to which assessor; nothing personal."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(String(32))
    assessor: Mapped[str | None] = mapped_column(String(32))
    details: Mapped[dict[str, Any]]
