"""The tables of an index in ClickHouse, and their replicated form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rankwell.clickhouse.engine import Engine, EngineError
from rankwell.clickhouse.values import Name, Sql, sql
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
    found = engine.ask_each("SELECT macro FROM system.macros WHERE macro IN {names} ORDER BY macro", names=MACROS)
    for (host, port), answer in zip(where.hosts, found, strict=True):
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
    found = any(kind.startswith("Replicated") for answer in answers for kind in answer.column("engine"))
    if engine.address.replicated and not found:
        raise RankwellError(
            f"{engine.address}: expected replicated tables, found plain ones of an earlier push: push into another "
            "database"
        )
    return found


def catch_up(engine: Engine, names: Iterable[str]) -> None:
    """Wait until every replica has all rows of these tables."""
    for name in names:
        engine.run_each("SYSTEM SYNC REPLICA {table}", table=engine.own[name])
