"""A study's database: SQLite in a file, or PostgreSQL for a team; opening brings its tables up to date."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.orm import Session

from rankwell.assess.migrations import bring_up_to_date, is_current
from rankwell.assess.shared_sync import SharedSync
from rankwell.core import RankwellError
from rankwell.web.sqlite import CONNECTIONS, sqlite_engine

MIGRATION_LOCK = 0x52414E4B  # any number will do, as long as nothing else in the database uses it
POSTGRES = "postgresql+psycopg"


class Database:
    """Short transactions on one study: `read` for looking, `write` for what must not be torn apart."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writers = {durable: engine.execution_options(writes=True, durable=durable) for durable in (True, False)}
        # SQLite lets one writer in and makes the others poll; inside a process they had better stand in line.
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else contextlib.nullcontext()
        # Nor need each of them wait for a disk of its own; PostgreSQL does the same by itself.
        self._disk = SharedSync(Path(f"{engine.url.database}-wal")) if engine.dialect.name == "sqlite" else None

    def __repr__(self) -> str:
        return f"Database({self.name!r})"

    @property
    def name(self) -> str:
        """Where it is, without a password."""
        return shown(self.engine.url)

    @contextlib.contextmanager
    def read(self) -> Iterator[Session]:
        """A view of the database as it is now."""
        with Session(self.engine) as session:
            yield session

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Session]:
        """A transaction: all of it is on disk when the block ends, or nothing where it fails.

        One that is not `durable` does not wait for the disk: a power cut (no less) may undo it, but nothing that was
        written after it and waited for.
        """
        with self._turn, Session(self._writers[durable], expire_on_commit=False) as session, session.begin():
            yield session
        if durable and self._disk is not None:
            self._disk.wait()

    def close(self) -> None:
        """Let go of its connections."""
        self.engine.dispose()
        if self._disk is not None:
            self._disk.close()


def open_database(where: Path | str, *, create: bool = False) -> Database:
    """Open the database in a file or at a `postgresql://` address, its tables made or upgraded where needed."""
    url = database_url(where)
    if url.get_backend_name() == "sqlite":
        _check_file(Path(url.database or ""), create=create)
    database = Database(_engine(url))
    try:
        with database.read() as session:
            current = is_current(session.connection(), database.name)
        if not current:
            with database.write() as session:
                connection = session.connection()
                _one_at_a_time(connection)
                bring_up_to_date(connection, database.name)
    except DBAPIError as error:
        database.close()
        reason = " ".join(str(error.orig).split())
        raise RankwellError(f"{database.name}: expected a database that opens, found: {reason}") from error
    except BaseException:
        database.close()
        raise
    return database


def database_url(where: Path | str) -> URL:
    """A file's name as SQLite's address; PostgreSQL's addresses as they are, with the driver that we use."""
    text = str(where)
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise RankwellError("database: expected a file or postgresql://USER@HOST/NAME, found neither") from error
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername=POSTGRES)
    if url.drivername not in ("sqlite", POSTGRES):
        raise RankwellError(f"{shown(url)}: expected a file, or an address that begins with postgresql://")
    return url


def shown(url: URL) -> str:
    """An address without its password; a file by its name."""
    is_file = url.get_backend_name() == "sqlite"
    return str(url.database) if is_file else url.set(drivername="postgresql").render_as_string(hide_password=True)


def _check_file(path: Path, *, create: bool) -> None:
    if path.is_file():
        return
    if not create:
        raise RankwellError(f"{path}: expected a study's database, found none: make one with `rankwell assess create`")
    if not path.parent.is_dir():
        raise RankwellError(f"{path}: expected a place for a file, found no folder {path.parent}")
    # It holds e-mail addresses: nobody else on this machine is to read it. SQLite's side files take its rights over.
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _engine(url: URL) -> Engine:
    if url.drivername == POSTGRES:
        engine = create_engine(
            url, pool_size=CONNECTIONS, max_overflow=CONNECTIONS, pool_pre_ping=True, hide_parameters=True
        )
        event.listen(engine, "begin", _begin_postgres)
        return engine
    return sqlite_engine(url, synchronous="NORMAL")  # not commits wait for the disk, but `write`


def _begin_postgres(connection: Connection) -> None:
    if not connection.get_execution_options().get("durable", True):
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")


def _one_at_a_time(connection: Connection) -> None:
    """Two servers that start together must not both make the tables; SQLite's write lock sees to that by itself."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(MIGRATION_LOCK)))
