"""The tables of a screening project: one database with one review's records and decisions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, Session, mapped_column

from rankwell import store

ANSWERS = "answer IN ('include', 'exclude', 'maybe')"


class Table(store.Table):
    """Base of a project's tables."""

    __abstract__ = True
    metadata = store.new_metadata()


PROJECT = store.Schema("screening", "a screening project", Table.metadata)


def _where(condition: str) -> dict[str, Any]:
    """The rows that an index is of, for either database."""
    return dict.fromkeys(("sqlite_where", "postgresql_where"), sa.text(condition))


class ProjectRow(Table):
    """The review itself: one row. `key` is random, and distinguishes this project's cookies from others.

    `changes` grows with every change of decisions, so that processes know when their caches are outdated.
    """

    __tablename__ = "project"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str]
    title: Mapped[str]
    criteria: Mapped[str]
    reasons: Mapped[list[str]]
    changes: Mapped[int]
    created_at: Mapped[datetime]


class ReviewerRow(Table):
    """A reviewer of the project."""

    __tablename__ = "reviewers"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)


class ImportRow(Table):
    """An imported file."""

    __tablename__ = "imports"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    records: Mapped[int]
    at: Mapped[datetime]


class RecordRow(Table):
    """A reference. Records are never deleted, so that their numbers run from 1 without a gap."""

    __tablename__ = "records"

    id: Mapped[int] = mapped_column(primary_key=True)
    source: Mapped[int] = mapped_column(sa.ForeignKey("imports.id"))
    title: Mapped[str]
    abstract: Mapped[str]
    reference: Mapped[dict[str, Any]]


class DecisionRow(Table):
    """One answer of one reviewer. Changed and undone answers stay as history.

    `looked` numbers the records in the order in which this reviewer first saw them.
    """

    __tablename__ = "decisions"
    __table_args__ = (
        sa.CheckConstraint(ANSWERS, name="answer"),
        sa.Index("one_current_decision", "reviewer", "record", unique=True, **_where("current")),
        sa.Index(None, "reviewer", "looked"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    reviewer: Mapped[int] = mapped_column(sa.ForeignKey("reviewers.id"))
    record: Mapped[int] = mapped_column(sa.ForeignKey("records.id"), index=True)
    answer: Mapped[str]
    reason: Mapped[str]
    note: Mapped[str]
    at: Mapped[datetime]
    looked: Mapped[int]
    current: Mapped[bool]
    undone_at: Mapped[datetime | None]


class ResolutionRow(Table):
    """The agreed answer after a conflict; it is deleted when a reviewer changes their answer."""

    __tablename__ = "resolutions"
    __table_args__ = (
        sa.CheckConstraint(ANSWERS, name="answer"),
        sa.Index("one_current_resolution", "record", unique=True, **_where("undone_at IS NULL")),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    record: Mapped[int] = mapped_column(sa.ForeignKey("records.id"))
    by: Mapped[int] = mapped_column(sa.ForeignKey("reviewers.id"))
    answer: Mapped[str]
    reason: Mapped[str]
    at: Mapped[datetime]
    undone_at: Mapped[datetime | None]


class DuplicateRow(Table):
    """A record that is, or may be, the same publication as an earlier one."""

    __tablename__ = "duplicates"

    record: Mapped[int] = mapped_column(sa.ForeignKey("records.id"), primary_key=True)
    original: Mapped[int] = mapped_column(sa.ForeignKey("records.id"))
    why: Mapped[str]
    state: Mapped[str]
    by: Mapped[int | None] = mapped_column(sa.ForeignKey("reviewers.id"))
    at: Mapped[datetime]


@contextmanager
def changing(database: store.Database) -> Iterator[Session]:
    """A transaction that no other change of the project overlaps (in SQLite none does anyway)."""
    with database.write() as session:
        session.execute(sa.select(ProjectRow.id).with_for_update())
        yield session
