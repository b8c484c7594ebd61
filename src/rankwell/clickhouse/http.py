"""ClickHouse servers over HTTP: reused connections, fail-over and retries."""

from __future__ import annotations

import contextlib
import http.client
import logging
import random
import ssl
import time
import weakref
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from rankwell.clickhouse.address import SECURE, Address, Host
from rankwell.clickhouse.engine import (
    LARGE,
    WRITING,
    Engine,
    EngineError,
    ShardDownError,
    UnreachableError,
    engine_error,
)
from rankwell.clickhouse.values import Answer, Column, Settings, Sql, block, inserting, read_blocks, sql
from rankwell.core import RankwellError

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
        except ShardDownError as error:
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
        failed: RankwellError = UnreachableError(str(self.address))
        for pause in self._pauses():
            time.sleep(pause)
            for host in self._in_order():
                try:
                    return self._send(host, body, settings)
                except UnreachableError as error:
                    self._avoided[host] = time.monotonic() + AVOIDED
                    failed = failed if isinstance(failed, EngineError) else error  # an error answer says more
                except EngineError as error:
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
            except UnreachableError:
                continue
            return host
        raise UnreachableError(f"{self.address}: expected a server, found none that answers")

    def _explained(self, error: RankwellError) -> RankwellError:
        """Name the shard that is down, where the servers we reach cannot reach others."""
        if isinstance(error, UnreachableError):
            hosts = ", ".join(f"{host}:{port}" for host, port in self.hosts)
            return UnreachableError(f"{self.address}: expected an answer of a server, found none at {hosts}: {error}")
        if not isinstance(error, EngineError) or not error.places or not self.address.cluster:
            return error
        down = set(error.places)
        shards = [
            f"shard {number} ({', '.join(there)})" for number, there in self._shards().items() if down & set(there)
        ]
        if not shards:
            return error
        return ShardDownError(f"{self.address}: no server of {' and '.join(shards)} answers")

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
            raise UnreachableError(f"{where}: {_reason(error)}") from error
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
