"""One writer at a time, wherever it runs: a table that only one can make."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator

from rankwell.clickhouse.engine import Engine
from rankwell.clickhouse.errors import NO_TABLE, EngineError
from rankwell.clickhouse.literals import sql
from rankwell.clickhouse.tables import Tables
from rankwell.core import RankwellError

EXISTS = 57
STALE = 60.0  # seconds without a sign of life after which a writer is taken for dead
LOOK = 0.5
FOREVER = 1e9


class PushLock:
    """Held by the writer that made the table `pushing`; `beat` says that it is still alive."""

    def __init__(self, engine: Engine, tables: Tables) -> None:
        self._engine, self._table = engine, tables.own("pushing")
        self._owner = secrets.token_hex(8)
        self._beaten = 0.0

    @contextlib.contextmanager
    def held(self, stale: float = STALE) -> Iterator[PushLock]:
        """Wait for no one: raise where another writer is alive, take over from one that is dead."""
        self._take(stale)
        try:
            yield self
        finally:
            with contextlib.suppress(RankwellError):
                self._engine.run_first(sql("DROP TABLE IF EXISTS {table}", table=self._table))

    def beat(self) -> None:
        """Say that we live, now and then."""
        if time.monotonic() - self._beaten > STALE / 10:
            self._engine.run_first(
                sql("INSERT INTO {table} SELECT {owner}, now()", table=self._table, owner=self._owner)
            )
            self._beaten = time.monotonic()

    def _take(self, stale: float) -> None:
        create = sql(
            "CREATE TABLE {table} (owner String, at DateTime) ENGINE = MergeTree ORDER BY at", table=self._table
        )
        for _ in range(2):
            try:
                self._engine.run_first(create)
            except EngineError as error:
                if error.code != EXISTS:
                    raise
                silent = self._silence()
                if silent > FOREVER:  # made a moment ago, perhaps, by one that has yet to give a sign
                    time.sleep(LOOK)
                    silent = self._silence()
                if silent < stale:
                    where = self._engine.address
                    raise RankwellError(
                        f"{where}: another push is writing (its last sign of life is {silent:.0f} s old; one that died "
                        f"is taken over after {stale:.0f} s)"
                    ) from None
                self._engine.run_first(sql("DROP TABLE IF EXISTS {table}", table=self._table))
            else:
                self.beat()
                return
        raise RankwellError(f"{self._engine.address}: another push has just begun")

    def _silence(self) -> float:
        """Seconds since the other writer's last sign of life."""
        statement = sql(
            "SELECT toFloat64(toUInt32(now()) - toUInt32(max(at))) AS seconds FROM {table}", table=self._table
        )
        try:
            found = self._engine.ask_first(statement)
        except EngineError as error:
            if error.code in NO_TABLE:
                return float("inf")
            raise
        return float(found["seconds"][0]) if found else float("inf")
