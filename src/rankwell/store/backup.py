"""Back a database up while it is in use, and restore it: JSON lines, or a SQLite file, for either kind of database.

    {"rankwell": "backup", "format": 1, "kind": "judging", "version": "0001", ...}
    {"table": "study", "columns": ["id", "settings", "created_at"]}
    [1, {...}, "2026-03-01T12:00:00+00:00"]
    ...
    {"rows": 812, "sha256": "..."}

All rows are read in one transaction, so a backup is the state of one moment. The last line counts and checksums what
stands before it: a file that was cut off or changed is refused. A backup of an earlier version of the tables is brought
up to date by the same migrations as a database.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import secrets
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import orjson
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, StatementError

from rankwell.core import RankwellError, atomic_write, sync_folder
from rankwell.store.database import SQLITE_MAGIC, Database, check_log, database_url, new_database, open_database
from rankwell.store.migrations import Schema, mark_version, newest_version
from rankwell.store.tables import Moment, moment

FORMAT = 1
DATABASES = (".db", ".sqlite", ".sqlite3")
AT_ONCE = 500  # rows
OWNER_ONLY = 0o600  # a backup holds e-mail addresses, as the database does


def back_up(database: Database, schema: Schema, path: Path | str, *, replace: bool = False) -> int:
    """Write all rows, as they are at one moment, into a file; returns their number. Others may go on writing.

    A name that ends in .db or .sqlite gives a SQLite database, any other name JSON lines (compressed if it ends in
    .gz). A file of that name is kept unless `replace` is set.
    """
    path = Path(path)
    if path.exists() and not replace:
        raise RankwellError(f"{path}: expected a new file, found one: choose another name, or give --replace")
    if path.suffix in DATABASES:
        with _new_file(path, schema, replace=replace) as copy:
            return _copy(database, copy, schema)
    with atomic_write(path) as file:
        if path.is_file() or not path.exists():  # and no pipe
            Path(file.name).chmod(OWNER_ONLY)
        if path.suffix != ".gz":
            return _write_lines(file, database, schema)
        with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as compressed:
            return _write_lines(compressed, database, schema)


def restore(path: Path | str, where: Path | str, schema: Schema, *, replace: bool = False) -> int:
    """Restore a backup into a new SQLite file or an empty PostgreSQL database; returns the number of rows.

    The backup is checked first. What is in the database stays unless `replace` is set; then it is replaced in one
    transaction. Stop the server before you replace what it serves.
    """
    path = Path(path)
    if not path.is_file():
        raise RankwellError(f"{path}: expected a backup, found {'a folder' if path.is_dir() else 'nothing there'}")
    url = database_url(where)
    target = Path(url.database or "") if url.get_backend_name() == "sqlite" else None
    if target is not None and target.exists() and not replace:
        raise RankwellError(f"{target}: expected a new file, found one: choose another name, or give --replace")
    with _up_to_date(path, schema) as source:
        if target is not None and not target.exists():
            with _new_file(target, schema, replace=False) as made:
                return _copy(source, made, schema)
        there = open_database(where, schema)
        try:
            return _copy(source, there, schema, replace=replace)
        finally:
            there.close()


def _copy(source: Database, target: Database, schema: Schema, *, replace: bool = False) -> int:
    """Copy all rows in one transaction, into empty tables."""
    tables, rows = schema.tables.sorted_tables, 0
    with _snapshot(source) as reading, target.write() as session:
        writing = session.connection()
        for table in tables[::-1]:
            if replace:
                writing.execute(sa.delete(table))
            elif writing.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None:
                way_out = "choose another database, or give --replace"
                raise RankwellError(f"{target.name}: expected an empty database, found rows in {table.name}: {way_out}")
        for table in tables:
            for some in _rows(reading, table).partitions(AT_ONCE):
                rows += len(some)
                writing.execute(sa.insert(table), [dict(row._mapping) for row in some])  # noqa: SLF001 -- SQLAlchemy's public name
        if writing.dialect.name == "postgresql":
            _number_on(writing, tables)
    return rows


@contextmanager
def _snapshot(database: Database) -> Iterator[sa.Connection]:
    """A transaction that sees one moment (in SQLite every one does)."""
    engine = database.engine
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    with engine.connect() as connection, connection.begin():
        yield connection


def _rows(connection: sa.Connection, table: sa.Table) -> sa.CursorResult[Any]:
    return connection.execution_options(yield_per=AT_ONCE).execute(sa.select(table).order_by(*table.primary_key))


def _number_on(connection: sa.Connection, tables: Iterable[sa.Table]) -> None:
    """Let PostgreSQL number new rows after those that came with their numbers."""
    for table in tables:
        column = table.autoincrement_column
        if column is None:
            continue
        sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
        last = sa.select(sa.func.max(column)).scalar_subquery()
        connection.execute(sa.select(sa.func.setval(sequence, sa.func.coalesce(last, 1), last.is_not(None))))


@contextmanager
def _new_file(path: Path, schema: Schema, *, replace: bool) -> Iterator[Database]:
    """A new SQLite database, which gets its name when the block ends well."""
    if not path.parent.is_dir():
        raise RankwellError(f"{path}: expected a place for a file, found no folder {path.parent}")
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        database = open_database(temporary, schema, create=True)
        try:
            yield database
        finally:
            database.close()  # the last connection moves SQLite's log into the file
        descriptor = os.open(temporary, os.O_RDWR)
        os.fsync(descriptor)
        os.close(descriptor)
        if replace:
            for side in ("-wal", "-shm"):  # of the file that is replaced: with the new one they would be damage
                Path(f"{path}{side}").unlink(missing_ok=True)
            temporary.replace(path)
        else:
            os.link(temporary, path)  # unlike a rename it fails where another file has come meanwhile
        sync_folder(path.parent)
    except OSError as error:
        raise RankwellError(f"{path}: not written: {error.strerror}") from error
    finally:
        for side in ("", "-wal", "-shm"):
            Path(f"{temporary}{side}").unlink(missing_ok=True)


def _write_lines(file: IO[bytes] | gzip.GzipFile, database: Database, schema: Schema) -> int:
    digest, rows = hashlib.sha256(), 0

    def write(value: object) -> None:
        line = orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
        digest.update(line)
        file.write(line)

    version = newest_version(schema)
    write({"rankwell": "backup", "format": FORMAT, "kind": schema.branch, "version": version, "made_at": moment()})
    with _snapshot(database) as connection:
        for table in schema.tables.sorted_tables:
            write({"table": table.name, "columns": [column.name for column in table.columns]})
            for row in _rows(connection, table):
                write(list(row))
                rows += 1
    file.write(orjson.dumps({"rows": rows, "sha256": digest.hexdigest()}, option=orjson.OPT_APPEND_NEWLINE))
    return rows


@contextmanager
def _up_to_date(path: Path, schema: Schema) -> Iterator[Database]:
    """The backup as a database of this version, in a folder that goes away."""
    with TemporaryDirectory(prefix="rankwell-restore-") as folder:
        copy = Path(folder) / "backup.db"
        with path.open("rb") as file:
            is_database = file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
        try:
            (_copy_checked if is_database else _read_lines)(path, copy, schema)
            database = open_database(copy, schema)
        except (DBAPIError, StatementError, sqlite3.Error) as error:
            reason = " ".join(str(getattr(error, "orig", None) or error).split())
            raise RankwellError(f"{path}: expected a whole backup, found a damaged one: {reason}") from error
        except RankwellError as error:
            raise RankwellError(str(error).replace(str(copy), str(path))) from error
        try:
            yield database
        finally:
            database.close()


def _copy_checked(path: Path, copy: Path, schema: Schema) -> None:
    """Copy a SQLite database, with its log if it has one, and check it."""
    check_log(path, schema)
    read_only = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    with closing(read_only) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        problems = [row[0] for row in target.execute("PRAGMA integrity_check(1)") if row[0] != "ok"]
        problems += [f"a row of {row[0]} lacks its {row[2]}" for row in target.execute("PRAGMA foreign_key_check")]
    if problems:
        raise RankwellError(f"{path}: expected a whole database, found a damaged one: {problems[0]}")


def _read_lines(path: Path, copy: Path, schema: Schema) -> None:
    """Write the rows into tables of their own version: constraints come with the tables they are copied to."""
    lines = _checked_lines(path)
    version = _version(path, next(lines), schema)
    database = new_database(copy)
    try:
        with database.write() as session:
            connection, made = session.connection(), sa.MetaData()
            for line in lines:
                if isinstance(line, dict):
                    table = _own_table(path, line, schema, made)
                    table.create(connection)
                    names = [column.name for column in table.columns]
                    convert = [_convert(column) for column in table.columns]
                else:
                    values = [read(value) for read, value in zip(convert, line, strict=True)]
                    connection.execute(sa.insert(table), dict(zip(names, values, strict=True)))
            mark_version(connection, version)
    except (ValueError, TypeError, AttributeError, UnboundLocalError) as error:
        raise RankwellError(f"{path}: expected a whole backup, found a damaged one: {error}") from error
    finally:
        database.close()


def _checked_lines(path: Path) -> Iterator[Any]:
    """The lines of a backup, parsed, once the last of them has been compared with the others."""
    digest, rows, last = hashlib.sha256(), 0, b""
    for line in _raw_lines(path):
        digest.update(last)
        rows += last.startswith(b"[")
        last = line
    expected = orjson.dumps({"rows": rows, "sha256": digest.hexdigest()}, option=orjson.OPT_APPEND_NEWLINE)
    if last != expected:
        raise RankwellError(f"{path}: expected a whole backup, found one that was cut off or changed: use another one")
    before = None
    for line in _raw_lines(path):
        if before is not None:
            yield orjson.loads(before)
        before = line


def _raw_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as plain:
        packed = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        try:
            with gzip.open(plain) if packed else plain as file:
                yield from file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            told = f"{path}: expected a whole backup, found one that was cut off or changed: {error}"
            raise RankwellError(told) from error


def _version(path: Path, header: Any, schema: Schema) -> str:
    if not isinstance(header, dict) or header.get("rankwell") != "backup":
        raise RankwellError(f"{path}: expected a backup, found another file")
    if header.get("kind") != schema.branch:
        raise RankwellError(f"{path}: expected a backup of {schema.kind}, found one of another kind")
    if header.get("format") != FORMAT:
        raise RankwellError(f"{path}: written by a newer Rankwell: please update")
    return str(header["version"])


def _own_table(path: Path, line: dict[str, Any], schema: Schema, made: sa.MetaData) -> sa.Table:
    """The table as it was in the backup's version: the columns that the backup has, with their types of today."""
    known = schema.tables.tables.get(str(line.get("table")))
    columns = line.get("columns")
    if known is None or not isinstance(columns, list) or any(name not in known.columns for name in columns):
        raise RankwellError(f"{path}: written by a newer Rankwell, or damaged: no table {line.get('table')}")
    taken = [known.columns[name] for name in columns]
    kept = (sa.Column(of.name, of.type, primary_key=of.primary_key, autoincrement=False) for of in taken)
    return sa.Table(known.name, made, *kept)


def _convert(column: sa.Column[Any]) -> Callable[[Any], Any]:
    """What makes a column's value of what stands in the file."""
    return _moment if isinstance(column.type, Moment) else lambda value: value


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
