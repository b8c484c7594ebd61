"""Copying the vectors beside an index into ClickHouse."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rankwell.clickhouse.literals import sql
from rankwell.clickhouse.loads import VECTORS, Loads
from rankwell.clickhouse.manifest import VectorSet
from rankwell.clickhouse.native import numbers, texts, vectors
from rankwell.dense import Embeddings, embeddings_of
from rankwell.index import Index

if TYPE_CHECKING:
    from rankwell.clickhouse.index import ClickHouseIndex

TOGETHER = 1 << 13  # vectors that are sent at a time
LOAD = 1 << 17


def push_vectors(
    index: Index, reader: ClickHouseIndex, loads: Loads, beat: Callable[[], None]
) -> tuple[tuple[VectorSet, ...], int]:
    """Send the vectors that are not there yet; what there is then, and how many were sent."""
    found, sent = [], 0
    for there in embeddings_of(index):
        known = reader.vector_sets.get(there.name)
        kept = known.loads if known is not None and known.made_with == there.made_with else ()
        finished = tuple(load for load in kept if load in loads.known)
        more = _send(there, reader, finished, loads, beat)
        sent += sum(count for _, count in more)
        found.append(
            VectorSet(
                there.name,
                there.model,
                there.dimensions,
                dict(there.encoder_settings),
                there.made_with,
                there.field,
                there.document,
                there.count,
                (*finished, *(load for load, _ in more)),
            )
        )
    return tuple(found), sent


def _send(
    there: Embeddings, reader: ClickHouseIndex, finished: tuple[int, ...], loads: Loads, beat: Callable[[], None]
) -> list[tuple[int, int]]:
    """The loads that were made, with how many vectors each has."""
    documents = np.flatnonzero(there.present)
    new = _numbers(reader)
    numbered = np.array([new[docno] for docno in there.index.docnos(documents).tolist()], dtype=np.int64)
    missing = ~np.isin(numbered, _having(there.name, reader, finished))
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
            reader.engine.insert(reader.tables.all("vectors"), columns)
            beat()
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


def _having(name: str, reader: ClickHouseIndex, loads: tuple[int, ...]) -> np.ndarray:
    """The documents that have a vector already."""
    if not loads:
        return np.zeros(0, dtype=np.int64)
    statement = sql(
        "SELECT document FROM {all} WHERE name = {name} AND load IN {loads}",
        all=reader.tables.all("vectors"),
        name=name,
        loads=loads,
    )
    found = reader.ask(statement, apart=True)
    return np.asarray(found.get("document", ()), dtype=np.int64)
