"""Copying the vectors beside an index into ClickHouse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankwell.clickhouse.index import ClickHouseIndex
from rankwell.clickhouse.literals import sql
from rankwell.clickhouse.loads import VECTORS
from rankwell.clickhouse.manifest import Commit, VectorSet
from rankwell.clickhouse.native import numbers, texts, vectors
from rankwell.clickhouse.tables import GRAPHS, create_graph
from rankwell.clickhouse.writing import Writer
from rankwell.core import fingerprint
from rankwell.dense import Embeddings, embeddings_of
from rankwell.index import Index

TOGETHER = 1 << 13  # vectors that are sent at a time
LOAD = 1 << 17


def push_vectors(index: Index, writer: Writer, commit: Commit) -> tuple[tuple[VectorSet, ...], int]:
    """Send the vectors that are not there yet; what there is then, and how many were sent."""
    found, sent = [], 0
    before = {of.name: of for of in commit.vectors}
    for there in embeddings_of(index):
        table = _table(there, writer)
        known = before.get(there.name)
        same = known is not None and known.made_with == there.made_with and known.table == table
        kept = known.loads if known is not None and same else ()
        finished = tuple(load for load in kept if load in writer.loads.known)
        of = VectorSet(
            there.name,
            there.model,
            there.dimensions,
            dict(there.encoder_settings),
            there.made_with,
            there.field,
            there.document,
            there.count,
            finished,
            table,
        )
        more = _send(there, writer, commit, of)
        sent += sum(count for _, count in more)
        found.append(replace(of, loads=(*finished, *(load for load, _ in more))))
    return tuple(found), sent


def _table(there: Embeddings, writer: Writer) -> str:
    """Where they go: into a table of their own where they have a graph, and the engine can keep one."""
    if not there.connected or writer.engine.version < GRAPHS:
        return "vectors"
    name = f"near_{fingerprint([there.name, there.dimensions])[:12]}"
    create_graph(writer.engine, writer.tables, name, there.dimensions, replicated=writer.replicated)
    return name


def _send(there: Embeddings, writer: Writer, commit: Commit, of: VectorSet) -> list[tuple[int, int]]:
    """The loads that were made, with how many vectors each has."""
    reader, loads = writer.reader(commit), writer.loads
    documents = np.flatnonzero(there.present)
    new = _numbers(reader)
    numbered = np.array([new[docno] for docno in there.index.docnos(documents).tolist()], dtype=np.int64)
    missing = ~np.isin(numbered, _having(reader, of))
    documents, numbered = documents[missing], numbered[missing]
    made = []
    for start in range(0, len(documents), LOAD):
        end = min(start + LOAD, len(documents))
        load = loads.begin(VECTORS, end - start)
        for at in range(start, end, TOGETHER):
            part = slice(at, min(at + TOGETHER, end))
            count = len(numbered[part])
            columns = {
                "name": texts([there.name] * count),
                "document": numbers("UInt32", numbered[part]),
                "load": numbers("UInt32", np.full(count, load.load)),
                "vector": vectors(there.vectors(documents[part])),
            }
            writer.engine.insert(writer.tables.all(of.table), columns)
            writer.beat()
        loads.finish(load)
        made.append((load.load, load.size))
    return made


def _numbers(reader: ClickHouseIndex) -> dict[str, int]:
    """The number that each document has in ClickHouse."""
    documents = reader.tables.all("documents")
    found = reader.ask(
        sql("SELECT document, docno FROM {all} WHERE {live}", all=documents, live=reader.where()), apart=True
    )
    numbers_there = found["document"].tolist() if found else []
    return dict(zip(found.get("docno", []), numbers_there, strict=True))


def _having(reader: ClickHouseIndex, of: VectorSet) -> np.ndarray:
    """The documents that have a vector already."""
    if not of.loads:
        return np.zeros(0, dtype=np.int64)
    statement = sql(
        "SELECT document FROM {all} WHERE name = {name} AND load IN {loads}",
        all=reader.tables.all(of.table),
        name=of.name,
        loads=of.loads,
    )
    found = reader.ask(statement, apart=True)
    return np.asarray(found.get("document", ()), dtype=np.int64)
