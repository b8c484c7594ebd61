"""A commit in ClickHouse, its fields and loads of documents, and the lock of its only writer."""

from __future__ import annotations

import contextlib
import hashlib
import math
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import orjson

from rankwell.clickhouse.engine import NO_TABLE, Engine, EngineError
from rankwell.clickhouse.values import Answer, numbers, texts
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
        return hashlib.sha256(self.written()).hexdigest()

    def written(self) -> bytes:
        """The commit as it is stored."""
        return orjson.dumps({"version": VERSION, **asdict(self)})

    def space(self, name: str) -> int | None:
        """The number of a field in `postings`; None for an unknown field."""
        if not name:
            return 0
        return self.fields.index(name) + 1 if name in self.fields else None


LAST = "SELECT manifest FROM {own[commits]} ORDER BY commit DESC LIMIT 1"


def read_commit(engine: Engine) -> Commit | None:
    """The last commit on the answering server, or None."""
    try:
        return _last([engine.ask(LAST)], engine)
    except EngineError as error:
        if error.code in NO_TABLE:
            return None
        raise


def read_last_commit(engine: Engine) -> Commit | None:
    """The last commit on any server: a writer may have died between two of them. Raises where it is too old."""
    answers = engine.ask_each(LAST)
    if any(orjson.loads(text)["version"] < OLDEST_WRITTEN for answer in answers for text in answer.column("manifest")):
        raise RankwellError(f"{engine.address}: was filled by an earlier Rankwell: push into another database")
    return _last(answers, engine)


def _last(answers: Sequence[Answer], engine: Engine) -> Commit | None:
    commits = [_parsed(text, engine.address.database) for answer in answers for text in answer.column("manifest")]
    return max(commits, key=lambda commit: commit.commit, default=None)


def _parsed(text: str, where: str) -> Commit:
    body = orjson.loads(text)
    version = body.pop("version")
    if version > VERSION:
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
    known: dict[int, Load]

    @classmethod
    def read(cls, engine: Engine) -> Loads:
        """Read the loads from all servers: a writer may have died between two of them."""
        known: dict[int, Load] = {}
        for answer in engine.ask_each("SELECT load, kind, first, size, finished FROM {own[loads]}"):
            for load, kind, first, size, finished in answer.rows(*Load._fields):
                done = bool(finished) or (load in known and known[load].finished)
                known[load] = Load(load, kind, first, size, done)
        return cls(engine, known)

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
        self.engine.insert_each(self.engine.own["loads"], columns)


@dataclass
class Fields:
    """The numbered fields: the position in `names`, from 1; 0 is all of them together."""

    engine: Engine
    names: tuple[str, ...]

    @classmethod
    def read(cls, engine: Engine, last: Commit | None) -> Fields:
        """Read the fields that any server knows, including those of a writer that died before its commit."""
        answers = engine.ask_each("SELECT place, name FROM {own[fields]}")
        known: dict[int, str] = {place: name for answer in answers for place, name in answer.rows("place", "name")}
        before = () if last is None else last.fields
        return cls(engine, (*before, *(known[place] for place in sorted(known) if place > len(before))))

    @property
    def spaces(self) -> dict[str, int]:
        """The number of each field, and of all together."""
        return {"": 0, **{name: place for place, name in enumerate(self.names, 1)}}

    def give(self, names: Iterable[str]) -> None:
        """Number the new fields."""
        new = [name for name in dict.fromkeys(names) if name not in self.names]
        if not new:
            return
        first = len(self.names) + 1
        columns = {"place": numbers("UInt16", range(first, first + len(new))), "name": texts(new)}
        self.engine.insert_each(self.engine.own["fields"], columns)
        self.names = (*self.names, *new)


EXISTS = 57
STALE = 60.0  # seconds without a heartbeat after which a writer counts as dead
LOOK = 0.5
FOREVER = 1e9


class PushLock:
    """Held by the writer that created the table `pushing`; `beat` is its heartbeat."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
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
                self._drop()

    def beat(self) -> None:
        """Write a heartbeat from time to time."""
        if time.monotonic() - self._beaten > STALE / 10:
            self._engine.run_first("INSERT INTO {own[pushing]} SELECT {owner}, now()", owner=self._owner)
            self._beaten = time.monotonic()

    def _drop(self) -> None:
        self._engine.run_first("DROP TABLE IF EXISTS {own[pushing]}")

    def _take(self, stale: float) -> None:
        create = "CREATE TABLE {own[pushing]} (owner String, at DateTime) ENGINE = MergeTree ORDER BY at"
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
                    raise RankwellError(
                        f"{self._engine.address}: another push is writing (its last sign of life is {silent:.0f} s "
                        f"old; one that died is taken over after {stale:.0f} s)"
                    ) from None
                self._drop()
            else:
                self.beat()
                return
        raise RankwellError(f"{self._engine.address}: another push has just begun")

    def _silence(self) -> float:
        """Seconds since the other writer's last heartbeat."""
        age = "SELECT toFloat64(toUInt32(now()) - toUInt32(max(at))) AS seconds FROM {own[pushing]}"
        try:
            answer = self._engine.ask_first(age)
        except EngineError as error:
            if error.code in NO_TABLE:
                return math.inf
            raise
        return float(answer["seconds"][0]) if answer else math.inf
