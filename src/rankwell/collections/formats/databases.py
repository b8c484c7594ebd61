"""Tables in databases: SQLite files, `sqlite:///x.db?table=T` and `postgresql://...?table=T`, read in a stream."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit
from uuid import UUID

from rankwell.collections.columns import ColumnChoice, listed
from rankwell.collections.format import DocumentFormat, cannot_be_written
from rankwell.collections.formats.json_values import flat
from rankwell.collections.reading import Reading
from rankwell.collections.tables import Row, documents_of_table
from rankwell.core import Document, FormatError, MissingExtraError, Phrase, RankwellError

SCHEMES = ("sqlite", "postgresql", "postgres")
MAGIC = "SQLite format 3\x00"
LARGEST_CELL = 100_000_000  # bytes
ALL = -1  # a limit that is none
AT_ONCE = 500  # rows of a server that are fetched together
SHADOWS = (
    "_data",
    "_idx",
    "_content",
    "_docsize",
    "_config",
    "_segments",
    "_segdir",
    "_stat",
    "_node",
    "_parent",
    "_rowid",
)


class Address(NamedTuple):
    """A database's address without the table, its path, how it may be shown, and the table."""

    scheme: str
    path: str
    url: str
    shown: str
    table: str | None


def is_address(source: str) -> bool:
    """Whether a source is the address of a database."""
    return source.partition("://")[0] in SCHEMES and "://" in source


def parse_address(source: str) -> Address:
    """`postgresql://me:secret@host/papers?table=articles` in its parts; a password is not shown."""
    try:
        parts = urlsplit(source)
        host = parts.hostname or ""
    except ValueError as error:
        raise RankwellError(f"expected an address such as sqlite:///x.db?table=T, found one with {error}") from error
    values = parse_qsl(parts.query, keep_blank_values=True)
    table = next((value for name, value in values if name == "table"), None) or None
    others = urlencode([(name, value) for name, value in values if name != "table"])
    user = f"{parts.username}@" if parts.username else ""
    shown = f"{parts.scheme}://{user}{host}{parts.path}"
    url = urlunsplit((parts.scheme, parts.netloc, parts.path, others, ""))
    return Address(parts.scheme, unquote(parts.path), url, shown, table)


def read_address(source: str, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    """The documents of a table of a database, by its address."""
    address = parse_address(source)
    if address.scheme == "sqlite":
        path = Path(address.path.removeprefix("/"))
        if not path.is_file():
            raise RankwellError(f"{path}: no such file (an absolute path has four slashes: sqlite:////data/x.db)")
        return read_sqlite(path, reading, choice, address.table)
    return _read_postgres(address, reading, choice)


def read_sqlite(path: Path, reading: Reading, choice: ColumnChoice, table: str | None = None) -> Iterator[Document]:
    """The documents of a table of a SQLite file; without a name, of the only one that has a text."""
    with _sqlite(path) as connection:
        tables = _sqlite_tables(path, connection)
        able = [name for name in tables if _has_text(connection, name)]
    views = []
    if table is not None and table not in tables:
        with _sqlite(path) as connection:
            views = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    chosen = _chosen(str(path), table, able, [*tables, *views], f"sqlite:///{path}?table=")
    where = str(path) if len(able) == 1 else f"{path} [{chosen}]"
    about = {"table": chosen, "file": path.name}
    others = [f"not {name}, which has no text" for name in tables if table is None and name != chosen]
    details = ["SQLite", f"table {chosen}", *others[:5]]
    rows = _sqlite_rows(path, chosen, reading)
    return documents_of_table(where, rows, choice, reading, about=about, typed=None, details=details)


def _chosen(where: str, table: str | None, able: list[str], tables: list[str], example: str) -> str:
    if table is not None:
        if table not in tables:
            raise RankwellError(f"{where}: expected a table {table!r}, found {listed(tables)}")
        return table
    if len(able) == 1:
        return able[0]
    if not able:
        raise RankwellError(f"{where}: expected a table with text, found {listed(tables)}")
    raise RankwellError(f"{where}: expected one table, found {listed(able)}: name one, such as {example}{able[0]}")


@contextlib.contextmanager
def _sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """A file that is only read, and trusted as little as SQLite can."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, check_same_thread=False)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_CELL)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.text_factory = lambda content: content.decode("utf-8", "replace")
            yield connection
    except sqlite3.Error as error:
        found = Phrase(f"one that cannot be read ({error})")
        raise FormatError(path, None, expected="a SQLite database", found=found) from error


def _sqlite_tables(path: Path, connection: sqlite3.Connection) -> list[str]:
    """The tables, without SQLite's own and without those that hold the index of a full-text table."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    virtual = [name for name, sql in rows if str(sql or "").upper().startswith("CREATE VIRTUAL")]
    hidden = {f"{name}{ending}" for name in virtual for ending in SHADOWS}
    tables = [name for name, _ in rows if not name.startswith("sqlite_") and name not in hidden]
    if not tables:
        raise RankwellError(f"{path}: expected a table, found an empty database")
    return tables


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _has_text(connection: sqlite3.Connection, table: str) -> bool:
    """Whether one of the first rows has a text with a letter."""
    try:
        rows = connection.execute(f"SELECT * FROM {_quoted(table)} LIMIT 50")  # noqa: S608 -- quoted
        return any(isinstance(cell, str) and any(map(str.isalpha, cell)) for row in rows for cell in row)
    except sqlite3.DataError:  # a cell that is too long, which is told when it is read
        return True
    except sqlite3.Error:  # a kind of table that this SQLite does not know
        return False


def _sqlite_rows(path: Path, table: str, reading: Reading) -> Iterator[Row]:
    """The rows of a table; after a row with too long a cell it goes on with the next.

    Python's cursor looks one row ahead, so that an error may be the next row's: rows are then read one by one.
    """
    number, most, whole = 0, ALL, False
    query = f"SELECT * FROM {_quoted(table)} LIMIT ? OFFSET ?"  # noqa: S608 -- a known table, quoted
    while not whole:
        before = number
        try:
            with _sqlite(path) as connection:
                cursor = connection.execute(query, (most, number))
                names = [column[0] for column in cursor.description]
                for cells in cursor:
                    number += 1
                    yield number, _present(names, cells)
            whole = most == ALL or number == before
        except FormatError as error:
            too_long = isinstance(error.__cause__, sqlite3.DataError)
            if too_long and most == ALL:
                most = 1
                continue
            number, most, whole = number + 1, ALL, not too_long  # nothing comes after any other error
            reading.report(path, number, f"a row of {table}", Phrase(str(error.found)))


def _present(names: list[str], cells: Any) -> dict[str, Any]:
    """The values of a row that JSON could have; bytes are left out."""
    values = ((name, _value(cell)) for name, cell in zip(names, cells, strict=True))
    return flat({name: value for name, value in values if value not in (None, "")})


def _value(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return cell.isoformat(timespec="seconds").removesuffix("T00:00:00")
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    if isinstance(cell, Decimal):
        return (int(cell) if cell == cell.to_integral_value() else float(cell)) if cell.is_finite() else None
    if isinstance(cell, UUID):
        return str(cell)
    if isinstance(cell, list):
        return [str(part) for part in cell if part is not None]
    return cell if isinstance(cell, (str, int, float, dict)) else None


def _read_postgres(address: Address, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    psycopg = _psycopg()
    with _postgres(psycopg, address) as connection:
        query = (
            "SELECT table_schema, table_name, bool_or(data_type IN ('text', 'character varying', 'json', 'jsonb')) "
            "FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name) "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') GROUP BY 1, 2 ORDER BY 1, 2"
        )
        rows = connection.execute(query).fetchall()
    named = {name if schema == "public" else f"{schema}.{name}": (schema, name) for schema, name, _ in rows}
    able = [name for name, (_, _, text) in zip(named, rows, strict=True) if text]
    chosen = _chosen(address.shown, address.table, able, list(named), f"{address.shown}?table=")
    where = f"{address.shown} [{chosen}]"
    return documents_of_table(
        where,
        _postgres_rows(psycopg, address, named[chosen], where, reading),
        choice,
        reading,
        about={"table": chosen, "file": chosen},
        typed=True,
        details=["PostgreSQL", f"table {chosen}"],
    )


@contextlib.contextmanager
def _postgres(psycopg: Any, address: Address) -> Iterator[Any]:
    try:
        url = address.url.replace("postgres://", "postgresql://", 1)
        with psycopg.connect(url, connect_timeout=30) as connection:
            connection.read_only = True
            yield connection
    except psycopg.Error as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FormatError(address.shown, None, expected="a database that answers", found=Phrase(reason)) from error


def _postgres_rows(
    psycopg: Any, address: Address, table: tuple[str, str], where: str, reading: Reading
) -> Iterator[Row]:
    """The rows through a cursor of the server, which keeps them; a connection that breaks is a problem."""
    number = 0
    try:
        with _postgres(psycopg, address) as connection, connection.cursor(name="rankwell") as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(psycopg.sql.SQL("SELECT * FROM {}").format(psycopg.sql.Identifier(*table)))
            names: list[str] = []
            for number, cells in enumerate(cursor, 1):
                names = names or [column.name for column in cursor.description]
                yield number, _present(names, cells)
    except FormatError as error:
        reading.report(where, number + 1, "a row of the table", Phrase(str(error.found)))


def _psycopg() -> Any:
    try:
        import psycopg
        import psycopg.sql
    except ImportError as error:
        raise MissingExtraError("A PostgreSQL database", extra="files") from error
    return psycopg


SQLITE = DocumentFormat(
    "sqlite", lambda _, start: start.startswith(MAGIC), read_sqlite, cannot_be_written("a SQLite database")
)
