"""A database (SQLite or PostgreSQL) with group commit: no acknowledged change is lost."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Condition
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.orm import Session

from rankwell.core import RankwellError
from rankwell.core.errors import NotSavedError
from rankwell.store.migrations import Schema, bring_up_to_date, is_current


class SharedSync:
    """Syncs SQLite's log to the disk; concurrent writers share a sync (group commit).

    A sync takes milliseconds: one per writer would limit the throughput. Writers that come during a sync share the
    next one.

    What has left the log is as safe: with `synchronous = NORMAL` SQLite syncs the log before a checkpoint copies it
    into the database, and the database before it restarts the log. Closing the file drops no lock of SQLite's (POSIX
    drops all of a process's locks on a closed file): SQLite locks its other files, never the log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = Condition()
        self._begun = self._done = 0
        self._busy = False
        self._failure: OSError | None = None
        self._file: int | None = None

    def wait(self) -> None:
        """Return when everything written before the call is on the disk; raise `OSError` if a sync failed.

        After a sync that failed there is no second try, for anybody: the system has forgotten which bytes are not on
        the disk, and the next sync would succeed without them (Rebello et al., "Can applications recover from fsync
        failures?", USENIX ATC 2020). Whoever opens the database again finds what is there.
        """
        with self._state:
            wanted = self._begun + 1  # one that has begun already may have missed our bytes
            while self._done < wanted:
                if self._failure is not None:
                    told = f"the disk failed to keep a write before: {self._failure.strerror}; start again"
                    raise OSError(errno.EIO, told, str(self.path)) from self._failure
                if self._busy:
                    self._state.wait()
                else:
                    self._sync_once()

    def close(self) -> None:
        """Close the file once no writer waits."""
        with self._state:
            self._let_go()

    def _sync_once(self) -> None:
        """Sync without holding the lock."""
        self._busy = True
        self._begun += 1
        number = self._begun
        self._state.release()
        failure: OSError | None = None
        finished = False
        try:
            self._sync()
            finished = True
        except OSError as error:
            failure = error
            raise
        finally:
            self._state.acquire()
            self._failure = failure
            self._done = number if finished else self._done
            self._busy = False
            self._state.notify_all()

    def _sync(self) -> None:
        """Sync the log as it is now.

        SQLite removes it when everything in it stands in the database, synced: then there is nothing to do. Otherwise
        the file stays open between syncs, as the system tells a failure to those who had the file open at the time.
        """
        try:
            now = self.path.stat()
        except FileNotFoundError:
            self._let_go()
            return
        if self._file is not None and not os.path.samestat(os.fstat(self._file), now):
            self._let_go()
        if self._file is None:
            try:
                self._file = os.open(self.path, os.O_RDWR)
            except FileNotFoundError:
                return
        os.fsync(self._file)

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


logger = logging.getLogger("rankwell.store")
SQLITE_MAGIC = b"SQLite format 3\x00"  # how its files begin
IN_USE = 0x52574F4E  # SQLite's application_id while a server has the database open
MIGRATION_LOCK = 0x52414E4B  # of servers that start together; any number that nothing else in the database uses
POSTGRES = "postgresql+psycopg"
CONNECTIONS = 10  # idle connections to keep; more are opened when needed
WAIT_MILLISECONDS = 30_000  # for another writer


# What SQLite and the system say of a disk, and what helps.
WAYS_OUT = {
    "full": "make room on its disk, then save again",
    "no space": "make room on its disk, then save again",
    "quota": "make room within the quota, then save again",
    "file too large": "raise the limit of the size of files, then save again",
    "readonly": "make the file and its folder writable",
    "read-only": "make the file and its folder writable",
    "i/o error": "look at the disk",
}


class Database:
    """Short transactions: `read` to query, `write` for atomic changes."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writers = {durable: engine.execution_options(writes=True, durable=durable) for durable in (True, False)}
        # SQLite lets one writer in and makes the others poll; inside a process a lock is faster.
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else contextlib.nullcontext()
        # Group commit for SQLite; PostgreSQL does it by itself.
        self._disk = SharedSync(Path(f"{engine.url.database}-wal")) if engine.dialect.name == "sqlite" else None

    def __repr__(self) -> str:
        return f"Database({self.name!r})"

    @property
    def name(self) -> str:
        """The address without its password."""
        return shown(self.engine.url)

    @contextlib.contextmanager
    def read(self) -> Iterator[Session]:
        """A session to read in."""
        with Session(self.engine) as session:
            yield session

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Session]:
        """A transaction: on the disk when the block ends, or rolled back on an error.

        Without `durable` it does not wait for the disk: a power cut may undo it, but not a later durable
        transaction.
        """
        with self._saying_why():
            with self._turn, Session(self._writers[durable], expire_on_commit=False) as session, session.begin():
                yield session
            if durable and self._disk is not None:
                self._disk.wait()

    @contextlib.contextmanager
    def _saying_why(self) -> Iterator[None]:
        """Turn a disk that is full, read-only or broken into a line with the reason and the way out."""
        try:
            yield
        except (OperationalError, OSError) as error:
            reason = str(error.orig if isinstance(error, OperationalError) else error.strerror)
            way_out = next((way for words, way in WAYS_OUT.items() if words in reason.lower()), None)
            if way_out is None:
                raise
            raise NotSavedError(
                f"{self.name}: not saved: {reason}: {way_out}; what was saved before is safe"
            ) from error

    def use_log(self) -> None:
        """Make SQLite keep a write-ahead log, so that readers and the writer do not block each other."""
        if self._disk is not None:
            connection = self.engine.raw_connection()
            connection.cursor().execute("PRAGMA journal_mode = WAL")
            connection.close()

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Mark a SQLite file while a server works on it, so that a copy without its log is noticed (`check_log`)."""
        self._mark(IN_USE)
        try:
            yield
        finally:
            self._mark(0)

    def _mark(self, mark: int) -> None:
        if self._disk is None:
            return
        with contextlib.suppress(DBAPIError, sqlite3.Error):  # a full disk must not keep a server from starting
            connection = self.engine.raw_connection()
            try:
                connection.cursor().execute(f"PRAGMA application_id = {mark}")
                connection.cursor().execute("PRAGMA wal_checkpoint")
            finally:
                connection.close()

    @contextlib.contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Close the database if the block, which opens it, fails; whatever a damaged file leads to becomes one line."""
        try:
            yield
        except BaseException as error:
            self.close()
            if isinstance(error, RankwellError) or not isinstance(error, Exception):
                raise
            reason = " ".join(str(getattr(error, "orig", None) or error).split()) or type(error).__name__
            raise RankwellError(
                f"{self.name}: expected a database that opens, found a damaged one: {reason}"
            ) from error

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
        if self._disk is not None:
            self._disk.close()


def open_database(where: Path | str, schema: Schema, *, create: bool = False) -> Database:
    """Open the database in a file or at a `postgresql://` address; create or upgrade its tables where needed."""
    url = database_url(where)
    if url.get_backend_name() == "sqlite":
        path = Path(url.database or "")
        _check_file(path, schema, create=create)
        check_log(path, schema)
    database = Database(_engine(url))
    with database.closed_on_error():
        try:
            with database.read() as session:
                current = is_current(session.connection(), schema, database.name)
            database.use_log()
            if not current:
                with database.write() as session:
                    if database.engine.dialect.name == "postgresql":  # in SQLite there is one writer anyway
                        session.execute(select(func.pg_advisory_xact_lock(MIGRATION_LOCK)))
                    bring_up_to_date(session.connection(), schema, database.name)
        except DBAPIError as error:
            reason = " ".join(str(error.orig).split())
            raise RankwellError(f"{database.name}: expected {schema.kind} that opens, found: {reason}") from error
    return database


def new_database(path: Path) -> Database:
    """A new SQLite database without tables."""
    database = Database(_engine(URL.create("sqlite", database=str(path))))
    database.use_log()
    return database


def check_log(path: Path, schema: Schema) -> None:
    """Refuse a SQLite file whose tables are all in a log that is not beside it; warn where the newest rows may be.

    That is what `cp` makes of a database in use: SQLite keeps the newest changes in a second file, FILE-wal.
    """
    try:
        with path.open("rb") as file:
            head = file.read(108)
    except OSError:
        return  # opening it says why
    has_log = head.startswith(SQLITE_MAGIC) and head[18] == 2  # noqa: PLR2004 -- its file format with a log
    if not has_log or Path(f"{path}-wal").exists():
        return
    way_out = "copy both files, or make a backup with `rankwell assess backup` or `rankwell review backup`"
    if head[100:101] == b"\r" and head[103:105] == b"\0\0":  # a first page that lists no table
        found = f"a copy without its log ({path.name}-wal), and no table in it"
        raise RankwellError(f"{path}: expected {schema.kind}, found {found}: {way_out}")
    if int.from_bytes(head[68:72], "big") == IN_USE:
        logger.warning(
            "%s: a server had this open, and its log (%s-wal) is not here: if this is a copy, the newest changes are "
            "missing: %s",
            path,
            path.name,
            way_out,
        )


def database_url(where: Path | str) -> URL:
    """SQLAlchemy's address of a SQLite file or a PostgreSQL database, with our driver."""
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


def _check_file(path: Path, schema: Schema, *, create: bool) -> None:
    if path.is_file():
        return
    if path.exists():
        raise RankwellError(f"{path}: expected {schema.kind}, found a folder")
    if not create:
        raise RankwellError(f"{path}: expected {schema.kind}, found none{schema.way_out}")
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
    else:
        engine = create_engine(url, pool_size=CONNECTIONS, max_overflow=-1, hide_parameters=True)
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None  # we begin transactions ourselves
    # NORMAL: commits do not wait for the disk, `Database.write` does.
    for pragma in (f"busy_timeout = {WAIT_MILLISECONDS}", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Take a writer's lock at the start: later it could fail, after the transaction has read what others change."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_postgres(connection: Connection) -> None:
    if not connection.get_execution_options().get("durable", True):
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
