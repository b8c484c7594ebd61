"""The tables of an index in ClickHouse, and what they record: commits, fields, and loads of documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import orjson

from rankwell.clickhouse.engine import NO_TABLE, Engine, EngineError
from rankwell.clickhouse.values import Answer, Name, Sql, numbers, sql, texts
from rankwell.core import RankwellError

MODERN = 20  # versions with codecs and dictionaries for columns
GRAPHS = (25, 8)  # versions with HNSW graphs of vectors
DEFINITIONS = {
    "postings": "(field UInt16, term {term}, document {rising}, frequency UInt32, length UInt32{positions}) "
    "ENGINE = {engine} ORDER BY (field, term, document)",
    "documents": "(document UInt32, docno String, hash UInt64, fields Array(UInt16), lengths Array(UInt32)"
    "{columns}) ENGINE = {engine} ORDER BY document SETTINGS index_granularity = 512",
    "stored": "(docno String, document UInt32, body String) "
    "ENGINE = {engine} ORDER BY docno SETTINGS index_granularity = 64",
    "vectors": "(name String, document UInt32, load UInt32, vector Array(Float32){graph}) "
    "ENGINE = {engine} ORDER BY (name, document)",
    "dead": "(document UInt32, batch UInt32) ENGINE = {engine} ORDER BY (batch, document)",
    "terms": "(commit UInt32, field UInt16, term String, documents UInt32) "
    "ENGINE = MergeTree PARTITION BY commit ORDER BY (field, term) SETTINGS index_granularity = 512",
    "loads": "(load UInt32, kind String, first UInt32, size UInt32, finished UInt8) ENGINE = MergeTree ORDER BY load",
    "fields": "(place UInt16, name String) ENGINE = MergeTree ORDER BY place",
    "commits": "(commit UInt32, manifest String) ENGINE = MergeTree ORDER BY commit",
}
"""The tables; those with `{engine}` are spread over the shards, the others are the same on every server."""
SHARDED = tuple(name for name, definition in DEFINITIONS.items() if "{engine}" in definition)


@dataclass(frozen=True)
class Layout:
    """Settings that are fixed when the tables are created."""

    metadata: int = 0  # columns
    positions: bool = False
    replicated: bool = False


def create(engine: Engine, layout: Layout) -> None:
    """Create missing tables on every server."""
    check_hosts(engine)
    engine.run_each("CREATE DATABASE IF NOT EXISTS {name}", name=Name(engine.address.database))
    modern = engine.version[0] >= MODERN
    names = map(metadata_columns, range(layout.metadata))
    values = {
        "term": Sql("LowCardinality(String)" if modern else "String"),
        "rising": Sql("UInt32 CODEC(Delta(4), LZ4)" if modern else "UInt32"),
        "positions": Sql(", positions Array(UInt32)" if layout.positions else ""),
        "columns": Sql("".join(f", {number} Float64, {text} Nullable(String)" for number, text in names)),
        "graph": Sql(""),
    }
    for name, definition in DEFINITIONS.items():
        _create(engine, name, definition, replicated=layout.replicated, **values)


def create_graph(engine: Engine, name: str, dimensions: int, *, replicated: bool) -> None:
    """Create a table for vectors with an HNSW graph, on every server."""
    index = ", INDEX near vector TYPE vector_similarity('hnsw', 'cosineDistance', {dimensions})"
    graph = sql(index, dimensions=dimensions)
    _create(engine, name, DEFINITIONS["vectors"], replicated=replicated, graph=graph)


def _create(engine: Engine, name: str, definition: str, *, replicated: bool, **values: Any) -> None:
    """Create a table on every server, and in a cluster the table over all shards."""
    address, kind = engine.address, Sql("MergeTree")
    if replicated:
        path = f"/clickhouse/rankwell/{address.database}/{{shard}}/{name}"  # braces: macros of each server
        kind = sql("ReplicatedMergeTree({path}, {replica})", path=path, replica="{replica}")
    beginning = "CREATE TABLE IF NOT EXISTS {table} "
    engine.run_each(beginning + definition, table=engine.own[name], engine=kind, **values)
    if address.cluster and "{engine}" in definition:
        engine.run_each(
            "CREATE TABLE IF NOT EXISTS {over} AS {of} "
            "ENGINE = Distributed({cluster}, {database}, {name}, intHash32(document))",
            over=engine.all[name],
            of=engine.own[name],
            cluster=address.cluster,
            database=address.database,
            name=name,
        )


def check_hosts(engine: Engine) -> None:
    """Refuse an address that does not name all servers of the cluster: writing needs them all."""
    address = engine.address
    if not address.cluster:
        return
    count = "SELECT count() AS servers FROM system.clusters WHERE cluster = {name}"
    for answer in engine.ask_each(count, name=address.cluster):
        servers = answer.number("servers")
        if not servers:
            raise RankwellError(f"{address}: expected a cluster {address.cluster!r} in the servers' configuration")
        if servers != len(address.hosts):
            raise RankwellError(
                f"{address}: expected the address of each of the {servers} servers of cluster {address.cluster!r}, "
                f"found {len(address.hosts)}"
            )


def metadata_columns(place: int) -> tuple[str, str]:
    """The columns of the metadata of that number: as number and as text."""
    return f"number{place}", f"text{place}"


MACROS = ("replica", "shard")


def check_keeper(engine: Engine) -> None:
    """Raise where a server has no Keeper, or does not know its shard and replica."""
    where = engine.address
    if not where.cluster:
        raise RankwellError(f"{where}: expected cluster=NAME with replicated=1: one server has no replicas")
    try:
        engine.ask_each("SELECT count() AS n FROM system.zookeeper WHERE path = '/'")
    except EngineError as error:
        raise RankwellError(
            f"{where}: expected a Keeper in the servers' configuration (<zookeeper>) for replicated=1: {error}"
        ) from error
    answers = engine.ask_each("SELECT macro FROM system.macros WHERE macro IN {names} ORDER BY macro", names=MACROS)
    for (host, port), answer in zip(where.hosts, answers, strict=True):
        missing = [name for name in MACROS if name not in answer.column("macro")]
        if missing:
            raise RankwellError(
                f"{host}:{port}: expected macros shard and replica in its configuration (<macros>) for replicated=1, "
                f"found none named {' or '.join(missing)}"
            )


def is_replicated(engine: Engine) -> bool:
    """Whether the tables are replicated; raises where the address asks for it and they are not."""
    answers = engine.ask_each(
        "SELECT engine FROM system.tables WHERE database = {database} AND name = 'postings'",
        database=engine.address.database,
    )
    replicated = any(kind.startswith("Replicated") for answer in answers for kind in answer.column("engine"))
    if engine.address.replicated and not replicated:
        raise RankwellError(
            f"{engine.address}: expected replicated tables, found plain ones of an earlier push: push into another "
            "database"
        )
    return replicated


def catch_up(engine: Engine, names: Iterable[str]) -> None:
    """Wait until every replica has all rows of these tables."""
    for name in names:
        engine.run_each("SYSTEM SYNC REPLICA {table}", table=engine.own[name])


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
        unfinished = (load for load in self.known.values() if load.kind == DOCUMENTS and not load.finished)
        return tuple(sorted((load.first, load.size) for load in unfinished))

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
