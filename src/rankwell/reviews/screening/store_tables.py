"""The tables of a screening project: one SQLite file holds one review's records and what people decided about them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, MetaData, Text, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

SCHEMA = 1  # raised with every change of these tables
NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
ANSWERS = "answer IN ('include', 'exclude', 'maybe')"


class Table(DeclarativeBase):
    """What all tables share. Moments are kept as text, in UTC: 2026-05-04T10:11:12+00:00."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {dict[str, Any]: JSON, list[str]: JSON, str: Text}  # noqa: RUF012 -- SQLAlchemy reads it off the class


class ProjectRow(Table):
    """The review itself: one row. `key` is random, and tells this project's cookies from those of others.

    `changes` grows with whatever changes decisions, by which programs see that what they remember is out of date.
    """

    __tablename__ = "project"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str]
    title: Mapped[str]
    criteria: Mapped[str]
    reasons: Mapped[list[str]]
    changes: Mapped[int]
    created_at: Mapped[str]


class ReviewerRow(Table):
    """Somebody who screens."""

    __tablename__ = "reviewers"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)


class ImportRow(Table):
    """A file that records came from."""

    __tablename__ = "imports"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    records: Mapped[int]
    at: Mapped[str]


class RecordRow(Table):
    """A reference. Records are never deleted, so that their numbers run from 1 without a gap."""

    __tablename__ = "records"

    id: Mapped[int] = mapped_column(primary_key=True)
    source: Mapped[int] = mapped_column(ForeignKey("imports.id"))
    title: Mapped[str]
    abstract: Mapped[str]
    reference: Mapped[dict[str, Any]]


class DecisionRow(Table):
    """One answer of one reviewer. Nothing is overwritten: what was changed or undone stays as history.

    `looked` numbers the records in the order in which this reviewer first looked at them.
    """

    __tablename__ = "decisions"
    __table_args__ = (
        CheckConstraint(ANSWERS, name="answer"),
        Index("one_current_decision", "reviewer", "record", unique=True, sqlite_where=text("current")),
        Index(None, "reviewer", "looked"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    reviewer: Mapped[int] = mapped_column(ForeignKey("reviewers.id"))
    record: Mapped[int] = mapped_column(ForeignKey("records.id"), index=True)
    answer: Mapped[str]
    reason: Mapped[str]
    note: Mapped[str]
    at: Mapped[str]
    looked: Mapped[int]
    current: Mapped[bool]
    undone_at: Mapped[str | None]


class ResolutionRow(Table):
    """What two reviewers agreed on where they had differed; it falls when one of them decides anew."""

    __tablename__ = "resolutions"
    __table_args__ = (
        CheckConstraint(ANSWERS, name="answer"),
        Index("one_current_resolution", "record", unique=True, sqlite_where=text("undone_at IS NULL")),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    record: Mapped[int] = mapped_column(ForeignKey("records.id"))
    by: Mapped[int] = mapped_column(ForeignKey("reviewers.id"))
    answer: Mapped[str]
    reason: Mapped[str]
    at: Mapped[str]
    undone_at: Mapped[str | None]


class DuplicateRow(Table):
    """A record that is, or may be, the same publication as an earlier one."""

    __tablename__ = "duplicates"

    record: Mapped[int] = mapped_column(ForeignKey("records.id"), primary_key=True)
    original: Mapped[int] = mapped_column(ForeignKey("records.id"))
    why: Mapped[str]
    state: Mapped[str]
    by: Mapped[int | None] = mapped_column(ForeignKey("reviewers.id"))
    at: Mapped[str]
