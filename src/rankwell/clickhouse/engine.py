"""The interface of an engine, its errors and the names of its tables; and the embedded engine.

The embedded engine is chDB: ClickHouse as a library, with its tables in a folder.
"""

from __future__ import annotations

import gc
import re
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

from rankwell.clickhouse.address import EMBEDDED, Address, Host
from rankwell.clickhouse.values import Answer, Column, Name, Settings, Sql, block, inserting, literal, read_blocks, sql
from rankwell.core import MissingExtraError, RankwellError

# Our statements contain long lists of numbers and terms.
LARGE: Settings = {"max_query_size": 1 << 28, "max_ast_elements": 10_000_000, "max_expanded_ast_elements": 10_000_000}
# Each shard answers for its own documents; we merge the answers.
APART: Settings = {"distributed_group_by_no_merge": 1}
WRITING = 20  # time limit of a write, as a multiple of that of a read


@dataclass(frozen=True)
class Tables:
    """The tables of a database by name; those over all shards have another ending."""

    database: str
    ending: str = ""

    def __getitem__(self, name: str) -> Sql:
        return sql("{database}.{name}", database=Name(self.database), name=Name(name + self.ending))


class Engine(ABC):
    """Runs statements. Reads are repeated where a server fails; writes are not.

    A statement is a template with values: `engine.ask("SELECT body FROM {all[stored]} WHERE docno = {id}", id="x")`,
    where `{own[NAME]}` is a server's own table and `{all[NAME]}` the table over all shards.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.hosts: tuple[Host, ...] = address.hosts or (("", 0),)  # the embedded engine is a single server
        self.own = Tables(address.database)
        self.all = Tables(address.database, "_all" if address.cluster else "")

    @cached_property
    def version(self) -> tuple[int, ...]:
        """The engine's version: `26.9.2.1` is (26, 9, 2, 1)."""
        version = self.ask("SELECT version() AS version")["version"][0]
        return tuple(int(part) for part in version.split(".") if part.isdigit())

    def sql(self, template: str | Sql, /, **values: Any) -> Sql:
        """Fill in a template."""
        if isinstance(template, Sql):
            return template
        written = {name: literal(value) for name, value in values.items()}
        return Sql(template.format_map({"own": self.own, "all": self.all, **written}))

    @abstractmethod
    def ask(self, statement: str | Sql, settings: Settings | None = None, /, **values: Any) -> Answer:
        """The answer of any available server."""

    def ask_first(self, statement: str | Sql, /, **values: Any) -> Answer:
        """The answer of the first server."""
        return read_blocks(self._read(self.hosts[0], self.sql(statement, **values)))

    def ask_each(self, statement: str | Sql, /, **values: Any) -> list[Answer]:
        """The answers of all servers, which must all be available."""
        return [read_blocks(self._read(host, self.sql(statement, **values))) for host in self.hosts]

    def run_first(self, statement: str | Sql, /, **values: Any) -> None:
        """Run a statement that changes a table, on the first server."""
        self._run(self.hosts[0], self.sql(statement, **values))

    def run_each(self, statement: str | Sql, /, **values: Any) -> None:
        """Run a statement that changes tables, on every server."""
        for host in self.hosts:
            self._run(host, self.sql(statement, **values), WRITING)

    @abstractmethod
    def insert(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Insert rows into a table of all servers; they are stored on every replica when this returns."""

    def insert_each(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Insert the same rows into every server's own table."""
        for host in self.hosts:
            self._insert(host, table, columns)

    @abstractmethod
    def copy_each(self, statement: Sql, table: Sql) -> None:
        """Insert the result of a statement into every server's own table."""

    @abstractmethod
    def _read(self, host: Host, statement: Sql) -> bytes: ...

    @abstractmethod
    def _run(self, host: Host, statement: Sql, patience: float = 1.0) -> None: ...

    @abstractmethod
    def _insert(self, host: Host, table: Sql, columns: Mapping[str, Column]) -> None: ...


CODE = re.compile(r"Code:\s*(\d+)")
PLACE = re.compile(r"\((?:[^()\s]*?, )?([\w.:\[\]-]+:\d+)")
# Codes of a failed or broken connection to another server of the cluster: a retry may help.
BROKEN = frozenset((3, 32, 101, 203, 209, 210, 236, 279, 394, 1000))
NO_ACCESS = frozenset((192, 193, 194, 195, 492, 497, 516))
NO_TABLE = frozenset((60, 81))
BUSY = frozenset((202,))
LONGEST = 400


class EngineError(RankwellError):
    """The engine refused a statement; `code` is its error code."""

    def __init__(self, message: str, code: int = 0, places: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code, self.places = code, places

    @property
    def passing(self) -> bool:
        """Whether a retry may succeed, later or on another server."""
        return self.code in BROKEN | BUSY


class UnreachableError(RankwellError):
    """No server answered."""


class ShardDownError(RankwellError):
    """No server of a shard was reachable by the others."""


def engine_error(where: str, text: str) -> EngineError:
    """The engine's message as an error: its first line, without details for its developers."""
    found = CODE.search(text)
    code = int(found[1]) if found else 0
    places = tuple(dict.fromkeys(PLACE.findall(text)))
    message = re.sub(r"^Code: \d+[.,]\s*(e\.displayText\(\) = )?(DB::\w+: )*", "", text.strip())
    message = re.split(r", e\.what\(\) =|\. Stack trace|\(version ", message, maxsplit=1)[0]
    message = " ".join(message.split())[:LONGEST]
    if code in NO_ACCESS:
        return EngineError(f"{where}: expected a user and password that the server knows: {message}", code)
    return EngineError(f"{where}: the engine says: {message}", code, places)


_lock = RLock()  # a finaliser may run inside
_open: dict[str, list[Any]] = {}  # the session of a folder and its users; the library allows one folder per process


class EmbeddedEngine(Engine):
    """The embedded engine as a cluster of one server."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._session = _session(address, self)

    def ask(self, statement: str | Sql, settings: Settings | None = None, /, **values: Any) -> Answer:
        """Run a statement, and read the answer."""
        return read_blocks(self._read(self.hosts[0], self.sql(statement, **values), settings or {}))

    def insert(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Insert rows through a file: the library has no other way to take binary rows from Python."""
        with tempfile.NamedTemporaryFile(suffix=".native") as file:
            file.write(block(columns))
            file.flush()
            beginning = inserting(table, columns)
            self._query(sql("{beginning} FROM INFILE {file} FORMAT Native", beginning=beginning, file=file.name))

    def copy_each(self, statement: Sql, table: Sql) -> None:
        """Copy within the only server."""
        self._query(sql("INSERT INTO {table} {statement}", table=table, statement=statement))

    def _read(self, host: Host, statement: Sql, settings: Settings = LARGE) -> bytes:  # noqa: ARG002 -- there is one
        given = ", ".join(f"{name} = {literal(value)}" for name, value in {**LARGE, **settings}.items())
        return self._query(f"{statement} SETTINGS {given}")

    def _run(self, host: Host, statement: Sql, patience: float = 1.0) -> None:  # noqa: ARG002 -- there is one
        self._query(statement)

    def _insert(self, host: Host, table: Sql, columns: Mapping[str, Column]) -> None:  # noqa: ARG002 -- there is one
        self.insert(table, columns)

    def _query(self, statement: str | Sql) -> bytes:
        try:
            answer = self._session.query(str(statement), "Native")
        except Exception as error:  # noqa: BLE001 -- the library's own class, which it does not export
            raise engine_error(str(self.address), str(error)) from None
        return bytes(answer.bytes() or b"") if answer is not None else b""


def _session(address: Address, user: object) -> Any:
    """The session of a folder, which stays open as long as it has a user."""
    try:
        from chdb import session
    except ImportError:
        raise MissingExtraError("an index in chDB", extra="clickhouse") from None
    folder = str(Path(address.folder).resolve())
    if set(_open) - {folder}:
        gc.collect()  # garbage collection of an unused index may close it
    with _lock:
        if folder not in _open:
            if _open:
                there = ", ".join(_open)
                raise RankwellError(f"{address}: the embedded engine has one folder a process, and uses {there}")
            try:
                Path(folder).mkdir(parents=True, exist_ok=True)
                _open[folder] = [session.Session(folder), 0]  # type: ignore[no-untyped-call]
            except OSError as error:
                raise RankwellError(f"{folder}: cannot be written: {error.strerror}") from error
            except RuntimeError as error:
                raise engine_error(str(address), str(error)) from None
        _open[folder][1] += 1
        weakref.finalize(user, _release, folder)
        return _open[folder][0]


def _release(folder: str) -> None:
    """Remove a user; the last one closes the session."""
    with _lock:
        _open[folder][1] -= 1
        if not _open[folder][1]:
            _open.pop(folder)[0].close()


def open_engine(address: Address) -> Engine:
    """Open the engine at an address; raises where no server answers."""
    if address.scheme == EMBEDDED:
        return EmbeddedEngine(address)
    from rankwell.clickhouse.http import HttpEngine

    return HttpEngine(address)
