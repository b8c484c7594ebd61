"""The tables of an index.

    postings   a row for each term of each field of each document, sorted by field, term, document
    documents  a row for each document: its id, a hash of its content, the lengths of its fields, its metadata columns
    stored     the whole document, sorted by id
    vectors    a row for each vector of each document; near_...: likewise, where the engine keeps a graph of them
    dead       documents that were deleted or replaced, by batch
    terms      in how many documents each term is, at a commit (a copy on every server)
    loads      which numbers were given to documents when, and whether all of their rows are there (likewise)
    fields     the number that each field has in `postings`; given once (likewise)
    commits    what readers see: one row for each commit (likewise)

Documents have numbers that are given once and never again. In a cluster the first five are spread over the shards by a
hash of that number, so that all rows of a document are on the same shard, and `NAME_all` is a Distributed table over
them. The others are small, and every server has all of them: so every shard scores alike, also when one is down.
"""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.clickhouse.engine import Engine
from rankwell.clickhouse.literals import Name, Sql, sql
from rankwell.core import RankwellError

SHARDED = ("postings", "documents", "stored", "vectors", "dead")
MODERN = 20  # versions that have codecs and dictionaries for columns
GRAPHS = (25, 8)  # versions that keep graphs of vectors for everyone


@dataclass(frozen=True)
class Tables:
    """The names of an index's tables."""

    database: str
    cluster: str = ""

    def own(self, name: str) -> Sql:
        """A server's own table."""
        return sql("{database}.{name}", database=Name(self.database), name=Name(name))

    def all(self, name: str) -> Sql:
        """The table of all shards."""
        return self.own(f"{name}_all" if self.cluster else name)


@dataclass(frozen=True)
class Layout:
    """What is fixed when the tables are made."""

    metadata: int = 0  # columns
    positions: bool = False
    replicated: bool = False


def create(engine: Engine, tables: Tables, layout: Layout) -> None:
    """Make the tables that are not there yet, on every server."""
    check_hosts(engine)
    engine.run_each(sql("CREATE DATABASE IF NOT EXISTS {name}", name=Name(tables.database)))
    for name, statement in _definitions(tables, layout, modern=engine.version[0] >= MODERN).items():
        engine.run_each(statement)
        if name in SHARDED:
            _distribute(engine, tables, name)


def create_graph(engine: Engine, tables: Tables, name: str, dimensions: int, *, replicated: bool) -> None:
    """Make a table for vectors of which the engine keeps a graph (HNSW), on every server."""
    statement = sql(
        "CREATE TABLE IF NOT EXISTS {table} (name String, document UInt32, load UInt32, vector Array(Float32), "
        "INDEX near vector TYPE vector_similarity('hnsw', 'cosineDistance', {dimensions})) "
        "ENGINE = {engine} ORDER BY (name, document)",
        table=tables.own(name),
        dimensions=dimensions,
        engine=table_engine(tables.database, name, replicated=replicated),
    )
    engine.run_each(statement)
    _distribute(engine, tables, name)


def _distribute(engine: Engine, tables: Tables, name: str) -> None:
    """In a cluster, the table of all shards."""
    if tables.cluster:
        engine.run_each(
            sql(
                "CREATE TABLE IF NOT EXISTS {all} AS {own} "
                "ENGINE = Distributed({cluster}, {database}, {name}, intHash32(document))",
                all=tables.all(name),
                own=tables.own(name),
                cluster=tables.cluster,
                database=tables.database,
                name=name,
            )
        )


def check_hosts(engine: Engine) -> None:
    """Writing needs every server of the cluster, and so the address must name them all."""
    address = engine.address
    if not address.cluster:
        return
    statement = sql("SELECT count() AS servers FROM system.clusters WHERE cluster = {name}", name=address.cluster)
    for found in engine.ask_each(statement):
        servers = int(found["servers"][0])
        if not servers:
            raise RankwellError(f"{address}: expected a cluster {address.cluster!r} in the servers' configuration")
        if servers != len(address.hosts):
            raise RankwellError(
                f"{address}: expected the address of each of the {servers} servers of cluster {address.cluster!r}, "
                f"found {len(address.hosts)}"
            )


def metadata_columns(place: int) -> tuple[str, str]:
    """The columns of the metadata of that place: as a number and as text."""
    return f"number{place}", f"text{place}"


def _definitions(tables: Tables, layout: Layout, *, modern: bool) -> dict[str, Sql]:
    term = Sql("LowCardinality(String)" if modern else "String")
    rising = Sql("UInt32 CODEC(Delta(4), LZ4)" if modern else "UInt32")
    names = map(metadata_columns, range(layout.metadata))
    columns = [f", {number} Float64, {text} Nullable(String)" for number, text in names]
    made = {
        "postings": "(field UInt16, term {term}, document {rising}, frequency UInt32, length UInt32{positions}) "
        "ENGINE = {engine} ORDER BY (field, term, document)",
        "documents": "(document UInt32, docno String, hash UInt64, fields Array(UInt16), lengths Array(UInt32)"
        "{columns}) ENGINE = {engine} ORDER BY document SETTINGS index_granularity = 512",
        "stored": "(docno String, document UInt32, body String) "
        "ENGINE = {engine} ORDER BY docno SETTINGS index_granularity = 64",
        "vectors": "(name String, document UInt32, load UInt32, vector Array(Float32)) "
        "ENGINE = {engine} ORDER BY (name, document)",
        "dead": "(document UInt32, batch UInt32) ENGINE = {engine} ORDER BY (batch, document)",
        "terms": "(commit UInt32, field UInt16, term String, documents UInt32) "
        "ENGINE = MergeTree PARTITION BY commit ORDER BY (field, term) SETTINGS index_granularity = 512",
        "loads": "(load UInt32, kind String, first UInt32, size UInt32, finished UInt8) "
        "ENGINE = MergeTree ORDER BY load",
        "fields": "(place UInt16, name String) ENGINE = MergeTree ORDER BY place",
        "commits": "(commit UInt32, manifest String) ENGINE = MergeTree ORDER BY commit",
    }
    positions = Sql(", positions Array(UInt32)" if layout.positions else "")
    values = {"term": term, "rising": rising, "columns": Sql("".join(columns)), "positions": positions}
    return {
        name: sql(
            "CREATE TABLE IF NOT EXISTS {table} " + definition,
            table=tables.own(name),
            engine=table_engine(tables.database, name, replicated=layout.replicated),
            **values,
        )
        for name, definition in made.items()
    }


def table_engine(database: str, name: str, *, replicated: bool) -> Sql:
    """What keeps the rows: a table of a server alone, or one that its replicas keep alike with the help of a Keeper."""
    if not replicated:
        return Sql("MergeTree")
    path = f"/clickhouse/rankwell/{database}/{{shard}}/{name}"  # braces: macros of each server
    return sql("ReplicatedMergeTree({path}, {replica})", path=path, replica="{replica}")
