"""A commit in ClickHouse, its loads of documents, and the lock of its only writer."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import orjson

from rankwell.clickhouse.engine import NO_TABLE, Engine, EngineError
from rankwell.clickhouse.tables import Tables
from rankwell.clickhouse.values import numbers, sql, texts
from rankwell.core import RankwellError

VERSION = 2
OLDEST_WRITTEN = 2  # oldest format that can be extended: earlier documents had no lengths


@dataclass(frozen=True)
class VectorSet:
    """Vectors of one name: their encoder and their loads."""

    name: str
    model: str
    dimensions: int
    encoder: Mapping[str, Any]
    made_with: str
    field: str | None
    document: str | None
    count: int
    loads: tuple[int, ...]
    table: str = "vectors"  # a table of their own where the engine keeps an HNSW graph of them


@dataclass(frozen=True)
class Commit:
    """An index at one commit, for readers."""

    analyzer: Mapping[str, Any]
    fields: tuple[str, ...]  # their number in `postings` is their position, from 1; 0 is all of them together
    metadata: Mapping[str, str]  # name -> number, text or none (no document has a value)
    commit: int = 0
    documents: int = 0
    limit: int = 0  # upper limit of document numbers (exclusive)
    holes: tuple[tuple[int, int], ...] = ()  # ranges of numbers (first, count) with incomplete documents
    batches: tuple[int, ...] = ()  # batches of `dead`
    deaths: int = 0
    averages: Mapping[str, float] = field(default_factory=dict)
    vectors: tuple[VectorSet, ...] = ()
    source: str = ""  # fingerprint of the copied index, its vectors included
    positions: bool = False

    def fingerprint(self) -> str:
        """A fingerprint of the content."""
        return hashlib.sha256(_written(self)).hexdigest()

    def space(self, name: str) -> int | None:
        """The number of a field in `postings`; None for an unknown field."""
        if not name:
            return 0
        return self.fields.index(name) + 1 if name in self.fields else None


def read_commit(engine: Engine, tables: Tables) -> Commit | None:
    """The last commit on the answering server, or None."""
    statement = sql("SELECT manifest FROM {commits} ORDER BY commit DESC LIMIT 1", commits=tables.own("commits"))
    try:
        return _last([engine.ask(statement)], tables)
    except EngineError as error:
        if error.code in NO_TABLE:
            return None
        raise


def read_last_commit(engine: Engine, tables: Tables) -> Commit | None:
    """The last commit on any server: a writer may have died between two of them. Raises where it is too old."""
    statement = sql("SELECT manifest FROM {commits} ORDER BY commit DESC LIMIT 1", commits=tables.own("commits"))
    answers = engine.ask_each(statement)
    if any(orjson.loads(text)["version"] < OLDEST_WRITTEN for answer in answers for text in answer.get("manifest", ())):
        raise RankwellError(f"{engine.address}: was filled by an earlier Rankwell: push into another database")
    return _last(answers, tables)


def text_of(commit: Commit) -> str:
    """The commit as stored text."""
    return _written(commit).decode()


def _written(commit: Commit) -> bytes:
    return orjson.dumps({"version": VERSION, **asdict(commit)})


def _last(answers: list[dict[str, Any]], tables: Tables) -> Commit | None:
    found = [_parsed(text, tables) for answer in answers for text in answer.get("manifest", ())]
    return max(found, key=lambda commit: commit.commit, default=None)


def _parsed(text: str, tables: Tables) -> Commit:
    body = orjson.loads(text)
    version = body.pop("version")
    if version > VERSION:
        where = tables.database
        raise RankwellError(f"{where}: written by a newer Rankwell (format {version}, this one reads {VERSION})")
    body["fields"] = tuple(body["fields"])
    body["holes"] = tuple((first, count) for first, count in body["holes"])
    body["batches"] = tuple(body["batches"])
    body["vectors"] = tuple(VectorSet(**{**of, "loads": tuple(of["loads"])}) for of in body["vectors"])
    return Commit(**body)


DOCUMENTS, VECTORS = "documents", "vectors"
MOST = 1 << 32


class Load(NamedTuple):
    """A load: documents numbered from `first`, or the vectors of `count` documents."""

    load: int
    kind: str
    first: int
    size: int
    finished: bool


@dataclass
class Loads:
    """All loads of an index."""

    engine: Engine
    tables: Tables
    known: dict[int, Load]

    @classmethod
    def read(cls, engine: Engine, tables: Tables) -> Loads:
        """Read the loads from all servers: a writer may have died between two of them."""
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
        """The first unused number."""
        return max((load.first + load.size for load in self.known.values() if load.kind == DOCUMENTS), default=0)

    @property
    def holes(self) -> tuple[tuple[int, int], ...]:
        """Ranges of numbers with incomplete documents."""
        found = (load for load in self.known.values() if load.kind == DOCUMENTS and not load.finished)
        return tuple(sorted((load.first, load.size) for load in found))

    def begin(self, kind: str, count: int) -> Load:
        """Announce a load before its rows are sent."""
        first = self.limit if kind == DOCUMENTS else 0
        if first + count >= MOST:
            raise RankwellError(
                f"{self.engine.address}: has given all of its {MOST:,} numbers: push into a new database"
            )
        load = Load(max(self.known, default=0) + 1, kind, first, count, finished=False)
        self._write(load)
        return load

    def finish(self, load: Load) -> None:
        """Mark a load as complete."""
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


EXISTS = 57
STALE = 60.0  # seconds without a heartbeat after which a writer counts as dead
LOOK = 0.5
FOREVER = 1e9


class PushLock:
    """Held by the writer that created the table `pushing`; `beat` is its heartbeat."""

    def __init__(self, engine: Engine, tables: Tables) -> None:
        self._engine, self._table = engine, tables.own("pushing")
        self._owner = secrets.token_hex(8)
        self._beaten = 0.0

    @contextlib.contextmanager
    def held(self, stale: float = STALE) -> Iterator[PushLock]:
        """Take the lock without waiting: raise where another writer is alive, take over from a dead one."""
        self._take(stale)
        try:
            yield self
        finally:
            with contextlib.suppress(RankwellError):
                self._engine.run_first(sql("DROP TABLE IF EXISTS {table}", table=self._table))

    def beat(self) -> None:
        """Write a heartbeat from time to time."""
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
                if silent > FOREVER:  # perhaps just created, by a writer without a heartbeat yet
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
        """Seconds since the other writer's last heartbeat."""
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
