"""The file of a screening project: SQLite, in which a decision is on the disk before anyone hears that it is saved."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from rankwell.core import RankwellError
from rankwell.reviews.screening.store_tables import SCHEMA, Table
from rankwell.web.sqlite import sqlite_engine

APPLICATION = 0x52575363  # "RWSc" in the file's head says what it is


class Database:
    """Short transactions: `read` for looking, `write` for what must not be torn apart."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.engine = sqlite_engine(URL.create("sqlite", database=str(path)))
        self._writer = self.engine.execution_options(writes=True)
        # SQLite lets one writer in and makes the others poll; inside a process they had better stand in line.
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def read(self) -> Iterator[Session]:
        """A view of the project as it is now."""
        with Session(self.engine) as session:
            yield session

    @contextlib.contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction: all of it is on the disk when the block ends, or nothing where it fails."""
        with self._turn, Session(self._writer, expire_on_commit=False) as session, session.begin():
            yield session

    def close(self) -> None:
        """Let go of its connections."""
        self.engine.dispose()


def open_database(path: Path) -> Database:
    """Open a project's file, or make it; another program's file and a newer version's are refused."""
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
    """Now, as it is stored."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _check(path: Path) -> None:
    """Whose file it is, before a single byte of it is changed."""
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
