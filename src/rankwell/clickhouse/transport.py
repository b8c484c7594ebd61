"""The two ways to reach ClickHouse: servers over HTTP with fail-over and retries, and chDB inside this process."""

from __future__ import annotations

import contextlib
import gc
import http.client
import logging
import random
import ssl
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import RLock
from typing import Any
from urllib.parse import urlencode

from rankwell.clickhouse import engine
from rankwell.clickhouse.engine import LARGE, SECURE, WRITING, Address, Engine, Host, engine_error
from rankwell.clickhouse.values import Answer, Column, Settings, Sql, block, inserting, literal, read_blocks, sql
from rankwell.core import MissingExtraError, RankwellError

Connection = http.client.HTTPConnection
log = logging.getLogger(__name__)

PAUSE = 0.1  # seconds before the second round; doubled for each further one
LONGEST_PAUSE = 2.0
AVOIDED = 5.0  # seconds for which a server that did not answer is tried last
READING: Settings = {**LARGE, "wait_end_of_query": 1}  # so that an error half-way is reported, not a partial answer
OK = 200


class HttpEngine(Engine):
    """The servers of an address over HTTP."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._context: ssl.SSLContext | None = None
        if address.scheme == SECURE:
            try:
                self._context = ssl.create_default_context(cafile=address.ca or None)
            except (OSError, ssl.SSLError) as error:
                raise RankwellError(f"{address.ca}: expected a file of certificates: {error}") from error
        self._avoided: dict[Host, float] = {}
        self._idle: dict[Host, list[Connection]] = {host: [] for host in self.hosts}
        weakref.finalize(self, _close, self._idle)

    def ask(self, statement: str | Sql, settings: Settings | None = None, /, **values: Any) -> Answer:
        """Try until a server answers. A shard that is down is skipped only where the address allows it."""
        given = {**READING, "max_execution_time": int(self.address.timeout) or 1, **(settings or {})}
        body = _query(self.sql(statement, **values))
        try:
            return read_blocks(self._ask(body, given))
        except engine.ShardDownError as error:
            if not self.address.partial:
                raise
            log.warning("%s; the other shards answer without it", error)
            return read_blocks(self._ask(body, {**given, "skip_unavailable_shards": 1}))

    def insert(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Insert through the first available server; it waits until the rows are on every replica."""
        settings = {"insert_distributed_sync": 1} if self.address.cluster else {}
        self._insert(self._any_host(), table, columns, settings)

    def copy_each(self, statement: Sql, table: Sql) -> None:
        """Run the query once, and forward its result unchanged."""
        rows = self._send(self._any_host(), _query(statement), READING, WRITING)
        insert = sql("INSERT INTO {table} FORMAT Native", table=table)
        for host in self.hosts:
            self._send(host, rows, {"query": str(insert)}, WRITING)

    def _read(self, host: Host, statement: Sql) -> bytes:
        return self._send(host, _query(statement), READING)

    def _run(self, host: Host, statement: Sql, patience: float = 1.0) -> None:
        self._send(host, str(statement).encode(), LARGE, patience)

    def _insert(self, host: Host, table: Sql, columns: Mapping[str, Column], settings: Settings | None = None) -> None:
        statement = f"{inserting(table, columns)} FORMAT Native"
        self._send(host, block(columns), {**(settings or {}), "query": statement}, WRITING)

    def _ask(self, body: bytes, settings: Settings) -> bytes:
        """Try the servers in rounds."""
        failed: RankwellError = engine.UnreachableError(str(self.address))
        for pause in self._pauses():
            time.sleep(pause)
            for host in self._in_order():
                try:
                    return self._send(host, body, settings)
                except engine.UnreachableError as error:
                    self._avoided[host] = time.monotonic() + AVOIDED
                    failed = failed if isinstance(failed, engine.EngineError) else error  # an error answer says more
                except engine.EngineError as error:
                    if not error.passing:
                        raise
                    failed = error
        raise self._explained(failed) from failed

    def _pauses(self) -> Iterator[float]:
        yield 0.0
        for attempt in range(self.address.retries):
            longest = min(LONGEST_PAUSE, PAUSE * 2**attempt)
            yield longest * random.uniform(0.5, 1.0)  # noqa: S311 -- jitter, so that clients do not return all at once

    def _in_order(self) -> list[Host]:
        """The servers in rotation, those that did not answer recently at the end."""
        now, hosts = time.monotonic(), list(self.hosts)
        random.shuffle(hosts)
        return sorted(hosts, key=lambda host: self._avoided.get(host, 0.0) > now)

    def _any_host(self) -> Host:
        for host in self._in_order():
            try:
                self._send(host, b"SELECT 1", {})
            except engine.UnreachableError:
                continue
            return host
        raise engine.UnreachableError(f"{self.address}: expected a server, found none that answers")

    def _explained(self, error: RankwellError) -> RankwellError:
        """Name the shard that is down, where the servers we reach cannot reach others."""
        if isinstance(error, engine.UnreachableError):
            hosts = ", ".join(f"{host}:{port}" for host, port in self.hosts)
            return engine.UnreachableError(
                f"{self.address}: expected an answer of a server, found none at {hosts}: {error}"
            )
        if not isinstance(error, engine.EngineError) or not error.places or not self.address.cluster:
            return error
        down = set(error.places)
        shards = [
            f"shard {number} ({', '.join(there)})" for number, there in self._shards().items() if down & set(there)
        ]
        if not shards:
            return error
        return engine.ShardDownError(f"{self.address}: no server of {' and '.join(shards)} answers")

    def _shards(self) -> dict[int, list[str]]:
        """The servers of each shard in the cluster's configuration."""
        statement = sql(
            "SELECT shard_num AS shard, host_name AS host, host_address AS ip, port FROM system.clusters "
            "WHERE cluster = {cluster} ORDER BY shard, replica_num",
            cluster=self.address.cluster,
        )
        shards: dict[int, list[str]] = {}
        for host in self._in_order():
            try:
                answer = read_blocks(self._send(host, _query(statement), {}))
            except RankwellError:
                continue
            for shard, name, port in answer.rows("shard", "host", "port"):
                shards.setdefault(shard, []).append(f"{name}:{port}")
            break
        return shards

    def _send(self, host: Host, body: bytes, settings: Settings, patience: float = 1.0) -> bytes:
        """Send one request; on a new connection where the server has closed a reused one."""
        path = "/?" + urlencode({"database": "system", **settings})
        where = f"{self.address.scheme}://{host[0]}:{host[1]}/{self.address.database}"
        used = None
        if "query" not in settings:  # rows are sent once, and therefore never on a reused connection
            with contextlib.suppress(IndexError):
                used = self._idle[host].pop()
        try:
            if used is not None:
                try:
                    status, data = self._exchange(used, path, body, patience)
                except (ConnectionError, http.client.HTTPException):
                    used = None  # the server has closed it
            if used is None:
                used = self._connect(host)
                status, data = self._exchange(used, path, body, patience)
        except (OSError, http.client.HTTPException) as error:
            raise engine.UnreachableError(f"{where}: {_reason(error)}") from error
        self._idle[host].append(used)
        if status != OK:
            raise engine_error(where, data.decode("utf-8", "replace"))
        return data

    def _connect(self, host: Host) -> Connection:
        if self._context is None:
            connection = Connection(*host, timeout=self.address.connect)
        else:
            connection = http.client.HTTPSConnection(*host, timeout=self.address.connect, context=self._context)
        with _closed_on_failure(connection):
            connection.connect()
        return connection

    def _exchange(self, connection: Connection, path: str, body: bytes, patience: float) -> tuple[int, bytes]:
        headers = {"X-ClickHouse-User": self.address.user, "X-ClickHouse-Key": self.address.password}
        with _closed_on_failure(connection):
            connection.sock.settimeout(self.address.timeout * patience)
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()


@contextlib.contextmanager
def _closed_on_failure(connection: Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _close(idle: dict[Host, list[Connection]]) -> None:
    for connections in idle.values():
        for connection in connections:
            connection.close()


def _query(statement: Sql) -> bytes:
    return f"{statement} FORMAT Native".encode()


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


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
