"""An engine: its address, its interface, the names of its tables, and its errors.

An address is such as clickhouse://reader@one.example:8123,two.example/papers:

    clickhouse://[user[:password]@]host[:port][,host[:port]...]/database[?option=value&...]
    clickhouses://...                        the same through TLS
    chdb:///folder[?database=name]           the embedded engine, its files in a folder

Options: `cluster` (the cluster's name in the servers' configuration; without it there is one server), `timeout`
(seconds to wait for an answer, 30), `connect` (seconds to wait for a connection, 3), `retries` (rounds over all hosts
after the first, 4), `partial=1` (results of the other shards where one is down), `ca` (a file of trusted certificates),
`replicated=1` (a first push makes tables that replicas keep alike with the help of a Keeper).
A password may stand in RANKWELL_CLICKHOUSE_PASSWORD instead. It is never printed.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from rankwell.clickhouse.values import Answer, Column, Name, Settings, Sql, literal, read_blocks, sql
from rankwell.core import ParameterError, RankwellError

Host = tuple[str, int]

PLAIN, SECURE, EMBEDDED = "clickhouse", "clickhouses", "chdb"
EXAMPLE = "an address as clickhouse://user@host:8123/database or chdb:///folder"
PORTS = {PLAIN: 8123, SECURE: 8443}
PASSWORD = "RANKWELL_CLICKHOUSE_PASSWORD"  # noqa: S105 -- the variable's name
DATABASE = "rankwell"
SWITCHES = ("partial", "replicated")


@dataclass(frozen=True)
class Address:
    """An address in its parts; `str` and `repr` are without the password."""

    scheme: str
    hosts: tuple[Host, ...] = ()
    user: str = "default"
    password: str = field(default="", repr=False)
    database: str = DATABASE
    folder: str = ""
    cluster: str = ""
    timeout: float = 30.0
    connect: float = 3.0
    retries: int = 4
    partial: bool = False
    ca: str = ""
    replicated: bool = False

    def __str__(self) -> str:
        if self.scheme == EMBEDDED:
            return f"chdb://{self.folder}" + (f"?database={self.database}" if self.database != DATABASE else "")
        user = f"{self.user}@" if self.user != "default" else ""
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        return f"{self.scheme}://{user}{hosts}/{self.database}"

    __repr__ = __str__


def parse_address(text: str) -> Address:
    """Parse an address; errors never repeat what might be a password."""
    try:
        parts = urlsplit(text)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise ParameterError("address", expected=EXAMPLE, found=_hidden(text)) from None
    if parts.scheme == EMBEDDED:
        folder = unquote(parts.netloc + parts.path)
        if not folder:
            raise ParameterError("address", expected="a folder as in chdb:///data/papers", found=text)
        return _with_options(Address(EMBEDDED, folder=folder), options, ("database",))
    if parts.scheme not in PORTS or not parts.netloc:
        raise ParameterError("address", expected=EXAMPLE, found=_hidden(text))
    user, _, where = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    hosts = tuple(_host(host, PORTS[parts.scheme], text) for host in where.split(","))
    database = unquote(parts.path.strip("/")) or DATABASE
    secret = unquote(password) or os.environ.get(PASSWORD, "")
    made = Address(parts.scheme, hosts, unquote(name) or "default", secret, database)
    return _with_options(made, options, ("cluster", "timeout", "connect", "retries", "partial", "ca", "replicated"))


def _with_options(address: Address, options: dict[str, str], known: tuple[str, ...]) -> Address:
    values: dict[str, Any] = {}
    for name, text in options.items():
        if name not in known:
            raise ParameterError("address", expected=f"options among {', '.join(known)}", found=name)
        values[name] = _option(name, text)
    return replace(address, **values)


def _option(name: str, text: str) -> Any:
    if name in ("cluster", "ca", "database"):
        return text
    try:
        number = float(text)
        if name in SWITCHES and text in ("0", "1"):
            return text == "1"
        if name == "retries" and number.is_integer() and number >= 0:
            return int(number)
        if name in ("timeout", "connect") and number > 0:
            return number
    except ValueError:
        pass
    expected = {**dict.fromkeys(SWITCHES, "0 or 1"), "retries": "a whole number from 0"}.get(name, "seconds above 0")
    raise ParameterError(f"address, {name}", expected=expected, found=text)


def _host(text: str, port: int, address: str) -> Host:
    try:
        parts = urlsplit(f"//{text}")
        if parts.hostname:
            return parts.hostname, parts.port or port
    except ValueError:
        pass
    raise ParameterError("address", expected="hosts as one.example:8123,two.example", found=_hidden(address))


def _hidden(text: str) -> str:
    """The address without the part before the hosts."""
    head, separator, rest = text.partition("://")
    return f"{head}{separator}{rest.rpartition('@')[2]}"


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
    match = CODE.search(text)
    code = int(match[1]) if match else 0
    places = tuple(dict.fromkeys(PLACE.findall(text)))
    message = re.sub(r"^Code: \d+[.,]\s*(e\.displayText\(\) = )?(DB::\w+: )*", "", text.strip())
    message = re.split(r", e\.what\(\) =|\. Stack trace|\(version ", message, maxsplit=1)[0]
    message = " ".join(message.split())[:LONGEST]
    if code in NO_ACCESS:
        return EngineError(f"{where}: expected a user and password that the server knows: {message}", code)
    return EngineError(f"{where}: the engine says: {message}", code, places)


def open_engine(address: str | Address) -> Engine:
    """Open the engine at an address; raises where no server answers."""
    from rankwell.clickhouse.transport import EmbeddedEngine, HttpEngine

    parsed = parse_address(address) if isinstance(address, str) else address
    return EmbeddedEngine(parsed) if parsed.scheme == EMBEDDED else HttpEngine(parsed)
