"""The tables of a screening project: one SQLite file with one review's records and decisions."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, URL, CheckConstraint, ForeignKey, Index, MetaData, Text, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from rankwell.core import RankwellError
from rankwell.core.sqlite import sqlite_engine

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
    """Base of all tables. Times are stored as text in UTC: 2026-05-04T10:11:12+00:00."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {dict[str, Any]: JSON, list[str]: JSON, str: Text}  # noqa: RUF012 -- SQLAlchemy reads it off the class


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
    created_at: Mapped[str]


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
    """One answer of one reviewer. Changed and undone answers stay as history.

    `looked` numbers the records in the order in which this reviewer first saw them.
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
    """The agreed answer after a conflict; it is deleted when a reviewer changes their answer."""

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


APPLICATION = 0x52575363  # "RWSc" in the file's header


class Database:
    """Short transactions: `read` to query, `write` for atomic changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.engine = sqlite_engine(URL.create("sqlite", database=str(path)))
        self._writer = self.engine.execution_options(writes=True)
        # SQLite lets one writer in and makes the others poll; inside a process a lock is faster.
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def read(self) -> Iterator[Session]:
        """A session to read in."""
        with Session(self.engine) as session:
            yield session

    @contextlib.contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction: on the disk when the block ends, or rolled back on an error."""
        with self._turn, Session(self._writer, expire_on_commit=False) as session, session.begin():
            yield session

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_database(path: Path) -> Database:
    """Open or create a project's file; an error for another program's file or a newer version's."""
    if not path.exists():
        if not path.parent.is_dir():
            raise RankwellError(f"{path}: expected a place for a project, found no folder {path.parent}")
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    elif not path.is_file():
        raise RankwellError(f"{path}: expected a project's file, found a folder")
    _check(path)
    database = Database(path)
    try:
        with database.write() as session:
            connection = session.connection()
            Table.metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
            connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA}")
    except DBAPIError as error:
        database.close()
        raise RankwellError(f"{path}: expected a project that opens, found: {error.orig}") from error
    return database


def moment() -> str:
    """The current time in UTC, as text."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _check(path: Path) -> None:
    """Raise an error unless the file is a project of this version or an earlier one, before changing it."""
    if path.stat().st_size == 0:
        return
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        raise RankwellError(f"{path}: expected a screening project, found: {error}") from error
    finally:
        connection.close()
    if application != APPLICATION:
        raise RankwellError(f"{path}: expected a screening project, found a database of another kind")
    if version > SCHEMA:
        raise RankwellError(
            f"{path}: expected a project of version {SCHEMA} or earlier, found {version}: a newer Rankwell made it"
        )
