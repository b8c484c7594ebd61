"""ClickHouse servers, asked over HTTP: the next one where one fails, again after a pause where all do."""

from __future__ import annotations

import http.client
import logging
import random
import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from urllib.parse import urlencode

from rankwell.clickhouse.address import Address
from rankwell.clickhouse.connections import Connection, Connections, Host
from rankwell.clickhouse.embedded import version_of
from rankwell.clickhouse.engine import LARGE, Settings
from rankwell.clickhouse.errors import EngineError, ShardDownError, UnreachableError, engine_error
from rankwell.clickhouse.literals import Sql, sql
from rankwell.clickhouse.native import Column, Columns, block, read_blocks
from rankwell.core import RankwellError

log = logging.getLogger(__name__)

PAUSE = 0.1  # seconds before the second round; twice as long before each further one
LONGEST_PAUSE = 2.0
AVOIDED = 5.0  # seconds for which a server that did not answer is asked last
WRITING = 20  # how many times longer than reading a write may take
READING: Settings = {**LARGE, "wait_end_of_query": 1}  # so that an error half-way is an error, not half an answer
OK = 200


class HttpEngine:
    """The servers of an address."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._connections = Connections(address)
        self._avoided: dict[Host, float] = {}

    @cached_property
    def version(self) -> tuple[int, ...]:
        """The version of the server that answers first."""
        return version_of(self.ask(sql("SELECT version() AS version")))

    def ask(self, statement: Sql, settings: Settings | None = None) -> Columns:
        """Ask until a server answers. A shard that is down is left out only where the address says so."""
        given = {**READING, "max_execution_time": int(self.address.timeout) or 1, **(settings or {})}
        body = f"{statement} FORMAT Native".encode()
        try:
            return read_blocks(self._ask(body, given))
        except ShardDownError as error:
            if not self.address.partial:
                raise
            log.warning("%s; the other shards answer without it", error)
            return read_blocks(self._ask(body, {**given, "skip_unavailable_shards": 1}))

    def ask_each(self, statement: Sql) -> list[Columns]:
        """Every server's answer."""
        body = f"{statement} FORMAT Native".encode()
        return [read_blocks(self._send(host, body, READING)) for host in self.address.hosts]

    def insert(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Through the first server that takes a connection; it waits until the rows are on every replica."""
        settings = {"insert_distributed_sync": 1} if self.address.cluster else {}
        self._insert(self._any_host(), table, columns, settings)

    def insert_each(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """To every server."""
        for host in self.address.hosts:
            self._insert(host, table, columns, {})

    def copy_each(self, statement: Sql, table: Sql) -> None:
        """Found once, and sent on as it comes."""
        rows = self._send(self._any_host(), f"{statement} FORMAT Native".encode(), READING, WRITING)
        insert = sql("INSERT INTO {table} FORMAT Native", table=table)
        for host in self.address.hosts:
            self._send(host, rows, {"query": str(insert)}, WRITING)

    def run_first(self, statement: Sql) -> None:
        """On the first server that the address names."""
        self._send(self.address.hosts[0], str(statement).encode(), LARGE)

    def ask_first(self, statement: Sql) -> Columns:
        """Of the first server that the address names."""
        return read_blocks(self._send(self.address.hosts[0], f"{statement} FORMAT Native".encode(), READING))

    def run_each(self, statement: Sql) -> None:
        """On every server."""
        for host in self.address.hosts:
            self._send(host, str(statement).encode(), LARGE, WRITING)

    def _insert(self, host: Host, table: Sql, columns: Mapping[str, Column], settings: Settings) -> None:
        names = Sql(", ".join(f"`{name}`" for name in columns))
        statement = sql("INSERT INTO {table} ({names}) FORMAT Native", table=table, names=names)
        self._send(host, block(columns), {**settings, "query": str(statement)}, WRITING)

    def _ask(self, body: bytes, settings: Settings) -> bytes:
        """One round over the servers after the other."""
        failed: RankwellError = UnreachableError(str(self.address))
        for pause in self._pauses():
            time.sleep(pause)
            for host in self._in_order():
                try:
                    return self._send(host, body, settings)
                except UnreachableError as error:
                    self._avoided[host] = time.monotonic() + AVOIDED
                    failed = failed if isinstance(failed, EngineError) else error  # who answers knows more
                except EngineError as error:
                    if not error.passing:
                        raise
                    failed = error
        raise self._explained(failed) from failed

    def _pauses(self) -> Iterator[float]:
        yield 0.0
        for attempt in range(self.address.retries):
            longest = min(LONGEST_PAUSE, PAUSE * 2**attempt)
            yield longest * random.uniform(0.5, 1.0)  # noqa: S311 -- so that clients do not come back all at once

    def _in_order(self) -> list[Host]:
        """The servers in turn, those that did not answer lately at the end."""
        now, hosts = time.monotonic(), list(self.address.hosts)
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
        """Which shard is down, where the servers that we reach cannot reach others."""
        if isinstance(error, UnreachableError):
            hosts = ", ".join(f"{host}:{port}" for host, port in self.address.hosts)
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
        """The servers of each shard, as the cluster knows them."""
        statement = sql(
            "SELECT shard_num AS shard, host_name AS host, host_address AS ip, port FROM system.clusters "
            "WHERE cluster = {cluster} ORDER BY shard, replica_num",
            cluster=self.address.cluster,
        )
        body, found = f"{statement} FORMAT Native".encode(), {}
        for host in self._in_order():
            try:
                found = read_blocks(self._send(host, body, {}))
                break
            except RankwellError:
                continue
        shards: dict[int, list[str]] = {}
        for shard, name, port in zip(found.get("shard", ()), found.get("host", ()), found.get("port", ()), strict=True):
            shards.setdefault(int(shard), []).append(f"{name}:{port}")
        return shards

    def _send(self, host: Host, body: bytes, settings: Settings, patience: float = 1.0) -> bytes:
        """One request; where a connection was used before and the server has closed it, on a new one."""
        path = "/?" + urlencode({"database": "system", **settings})
        where = f"{self.address.scheme}://{host[0]}:{host[1]}/{self.address.database}"
        # Rows are sent once, and so never on a connection that may be half dead.
        used = None if "query" in settings else self._connections.idle(host)
        try:
            if used is not None:
                try:
                    status, data = self._exchange(used, path, body, patience)
                except (ConnectionError, http.client.HTTPException):
                    used = None
            if used is None:
                used = self._connections.fresh(host)
                status, data = self._exchange(used, path, body, patience)
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f"{where}: {_reason(error)}") from error
        self._connections.give_back(host, used)
        if status != OK:
            raise engine_error(where, data.decode("utf-8", "replace"))
        return data

    def _exchange(self, connection: Connection, path: str, body: bytes, patience: float) -> tuple[int, bytes]:
        """Ask and hear; a connection that fails is closed."""
        headers = {"X-ClickHouse-User": self.address.user, "X-ClickHouse-Key": self.address.password}
        try:
            connection.sock.settimeout(self.address.timeout * patience)
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except BaseException:
            connection.close()
            raise


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
