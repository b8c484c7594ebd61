"""SQLite for the web parts: many readers, one writer at a time, no acknowledged change is lost."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL

CONNECTIONS = 10  # idle connections to keep; more are opened when needed
WAIT_MILLISECONDS = 30_000


def sqlite_engine(url: URL, synchronous: str = "FULL") -> Engine:
    """An engine whose readers and writer do not block each other (WAL).

    With `synchronous="FULL"` a commit is on the disk when it returns; with "NORMAL" the caller must ensure that. A
    transaction that writes must declare it (`execution_options(writes=True)`).
    """

    def set_up(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # we begin transactions ourselves
        for pragma in (
            f"busy_timeout = {WAIT_MILLISECONDS}",
            "journal_mode = WAL",
            f"synchronous = {synchronous}",
            "foreign_keys = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    engine = create_engine(url, pool_size=CONNECTIONS, max_overflow=-1, hide_parameters=True)
    event.listen(engine, "connect", set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    """Take a writer's lock at the start: later it could fail, after the transaction has read what others change."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
