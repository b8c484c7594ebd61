"""Which numbers were given to documents, and which of these loads are complete.

A load is announced on every server before its first row is sent, and again when its last row has arrived. A writer that
dies in between leaves numbers that no later load gets and no reader looks at: nothing is doubled, whatever arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rankwell.clickhouse.engine import Engine
from rankwell.clickhouse.literals import sql
from rankwell.clickhouse.native import numbers, texts
from rankwell.clickhouse.tables import Tables
from rankwell.core import RankwellError

DOCUMENTS, VECTORS = "documents", "vectors"
MOST = 1 << 32


class Load(NamedTuple):
    """Numbers from `first` on, or the vectors of so many documents."""

    load: int
    kind: str
    first: int
    size: int
    finished: bool


@dataclass
class Loads:
    """The loads of an index so far."""

    engine: Engine
    tables: Tables
    known: dict[int, Load]

    @classmethod
    def read(cls, engine: Engine, tables: Tables) -> Loads:
        """What any server knows: a writer may have died between two of them."""
        statement = sql("SELECT load, kind, first, size, finished FROM {loads}", loads=tables.own("loads"))
        known: dict[int, Load] = {}
        for answer in engine.ask_each(statement):
            if answer:
                rows = zip(*(list(answer[name]) for name in Load._fields), strict=True)
                for load, kind, first, size, finished in rows:
                    before = known.get(int(load))
                    done = bool(finished) or (before is not None and before.finished)
                    known[int(load)] = Load(int(load), kind, int(first), int(size), done)
        return cls(engine, tables, known)

    @property
    def limit(self) -> int:
        """The first number that was never given."""
        return max((load.first + load.size for load in self.known.values() if load.kind == DOCUMENTS), default=0)

    @property
    def holes(self) -> tuple[tuple[int, int], ...]:
        """Numbers whose documents never became complete."""
        found = (load for load in self.known.values() if load.kind == DOCUMENTS and not load.finished)
        return tuple(sorted((load.first, load.size) for load in found))

    def begin(self, kind: str, count: int) -> Load:
        """Announce a load."""
        first = self.limit if kind == DOCUMENTS else 0
        if first + count >= MOST:
            raise RankwellError(
                f"{self.engine.address}: has given all of its {MOST:,} numbers: push into a new database"
            )
        load = Load(max(self.known, default=0) + 1, kind, first, count, finished=False)
        self._write(load)
        return load

    def finish(self, load: Load) -> None:
        """All of its rows are there."""
        self._write(load._replace(finished=True))

    def _write(self, load: Load) -> None:
        self.known[load.load] = load
        columns = {
            "load": numbers("UInt32", [load.load]),
            "kind": texts([load.kind]),
            "first": numbers("UInt32", [load.first]),
            "size": numbers("UInt32", [load.size]),
            "finished": numbers("UInt8", [load.finished]),
        }
        self.engine.insert_each(self.tables.own("loads"), columns)
