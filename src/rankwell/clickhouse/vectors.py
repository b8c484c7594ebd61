"""Vectors in ClickHouse: sent beside an index, and compared with a query's on the shards that hold them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankwell.clickhouse.manifest import GRAPHS, VECTORS, Commit, Load, VectorSet, create_graph
from rankwell.clickhouse.values import Sql, numbers, sql, texts, vectors
from rankwell.core import Floats, Integers, ParameterError, RankwellError, fingerprint
from rankwell.index import Hits, Index, Mask
from rankwell.vectors import METHODS, Embeddings, Encoder, embeddings_of
from rankwell.vectors.quantise import unit

if TYPE_CHECKING:
    from rankwell.clickhouse.index import ClickHouseIndex
    from rankwell.clickhouse.writing import Writer


PRODUCT = 24  # versions in which the engine has its own dot product
HNSW = METHODS[1]
SPARE = 32  # documents beyond k, which usually include the ties
WIDTH = 256  # fewest vectors that a search of the graph compares
TOGETHER = 1 << 13  # vectors sent at once
VECTORS_A_LOAD = 1 << 17
FETCHED = 2  # results requested from the graph per wanted one, since some may be dead


class RemoteEmbeddings:
    """The vectors of an index in ClickHouse, as `rankwell.vectors.Vectors`."""

    def __init__(self, index: ClickHouseIndex, about: VectorSet) -> None:
        self.index, self._about = index, about
        self.name, self.model, self.dimensions = about.name, about.model, about.dimensions
        self.count = about.count
        self.connected = about.table != "vectors"  # the engine keeps a graph of them
        self._table = index.engine.all[about.table]

    def __repr__(self) -> str:
        return f"RemoteEmbeddings({self.name!r}, {self.count} vectors of {self.dimensions} numbers by {self.model})"

    def fingerprint(self) -> str:
        """A fingerprint of these vectors of this index."""
        return fingerprint([self._about, self.index.fingerprint()])

    def info(self) -> dict[str, Any]:
        """Facts about the vectors, for display."""
        return {
            "name": self.name,
            "model": self.model,
            "document": self._about.document or "all fields",
            "dimensions": self.dimensions,
            "documents": self.count,
            "without": len(self.index) - self.count,
            "bytes": {},
        }

    def encoder(self) -> Encoder:
        """The encoder that made the vectors; raises where it has changed since."""
        from rankwell.models.base import load_text_encoder

        encoder: Encoder = load_text_encoder(self.model, **self._about.encoder)
        if encoder.fingerprint() != self._about.made_with or encoder.dimensions != self.dimensions:
            where = f"{self.index.path}, vectors {self.name}"
            raise RankwellError(
                f"{where}: expected the model that they were made with ({self.model}), found another one of that name"
            )
        return encoder

    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        within: npt.ArrayLike | Mask | None = None,
        method: str = METHODS[0],
        width: int | None = None,
        threads: int = 1,
    ) -> Hits:
        """The k documents most similar to each query (a row of numbers), by cosine.

        `hnsw` follows the engine's graph and compares about `width` vectors, where there is a graph and no `within`;
        otherwise, and where the graph finds too few, all vectors are compared. The scores are the same.
        """
        if k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=k)
        if method not in METHODS:
            raise ParameterError("method", expected=" or ".join(METHODS), found=method)
        asked = unit(np.atleast_2d(np.asarray(queries, dtype=np.float32)))
        if asked.shape[1] != self.dimensions:
            expected = f"rows of {self.dimensions} numbers, as {self.model} makes them"
            raise ParameterError("queries", expected=expected, found=f"{asked.shape[1]}")
        allowed = self.index.where(None if within is None else self.index.mask(within))

        def nearest(query: Floats) -> tuple[Integers, Floats]:
            near = (
                self._near(query, k, allowed, width) if method == HNSW and self.connected and within is None else None
            )
            return self._nearest(query, k, allowed) if near is None else near

        with ThreadPoolExecutor(max(1, min(threads, len(asked)))) as pool:
            candidates = list(pool.map(nearest, asked))
        return self.index.ranked(candidates, k)

    def _near(self, query: Floats, k: int, allowed: Sql, width: int | None) -> tuple[Integers, Floats] | None:
        """Candidates from the graph, with their exact scores; None where they are too few."""
        asked = k + SPARE
        settings = {
            "hnsw_candidate_list_size_for_search": max(width or 0, WIDTH, 2 * asked),
            "max_limit_for_vector_search_queries": max(asked * FETCHED, 1000),
            "vector_search_filter_strategy": "postfilter",
            "vector_search_index_fetch_multiplier": float(FETCHED),
        }
        documents = self.index.ask(
            "SELECT document FROM {table} WHERE load IN {loads} AND {allowed} "
            "ORDER BY cosineDistance(vector, {query}) LIMIT {k}",
            apart=True,
            settings=settings,
            table=self._table,
            loads=self._about.loads or (0,),
            allowed=allowed,
            query=_numbers(query),
            k=asked,
        ).integers("document")
        if len(documents) < min(k, self.count):
            return None
        chosen = sql("{allowed} AND document IN {numbers}", allowed=allowed, numbers=tuple(documents.tolist()))
        return self._compared(query, len(documents), chosen)

    def _nearest(self, query: Floats, k: int, allowed: Sql) -> tuple[Integers, Floats]:
        """The k nearest, or more where some have the same score as the last."""
        for asked in _more(k):
            documents, scores = self._compared(query, asked, allowed)
            if len(scores) < asked:
                break
            last = np.partition(scores, len(scores) - k)[len(scores) - k]
            if (scores >= last).sum() < asked:
                break
        return documents, scores

    def _compared(self, query: Floats, k: int, allowed: Sql) -> tuple[Integers, Floats]:
        """The k nearest of these documents, and their exact scores."""
        modern = self.index.engine.version[0] >= PRODUCT
        product = "dotProduct(vector, {numbers})" if modern else "arraySum((x, y) -> x * y, vector, {numbers})"
        answer = self.index.ask(
            "SELECT document, toFloat32({product}) AS score FROM {table} "
            "WHERE name = {name} AND load IN {loads} AND {allowed} ORDER BY score DESC LIMIT {k}",
            apart=True,
            product=sql(product, numbers=_numbers(query)),
            table=self._table,
            name=self.name,
            loads=self._about.loads or (0,),
            allowed=allowed,
            k=k,
        )
        return answer.integers("document"), answer.floats("score")


def _numbers(query: Floats) -> Sql:
    return sql("CAST({numbers}, 'Array(Float32)')", numbers=[float(number) for number in query])


def _more(k: int) -> Iterator[int]:
    asked = k + SPARE
    while True:
        yield asked
        asked *= 4


def push_vectors(index: Index, writer: Writer, commit: Commit) -> tuple[tuple[VectorSet, ...], int]:
    """Send the missing vectors; return all sets of vectors, and the number sent."""
    sets, sent = [], 0
    before = {of.name: of for of in commit.vectors}
    for there in embeddings_of(index):
        table = _table(there, writer)
        known = before.get(there.name)
        same = known is not None and known.made_with == there.made_with and known.table == table
        kept = known.loads if known is not None and same else ()
        finished = tuple(load for load in kept if load in writer.loads.known)
        of = VectorSet(
            *(there.name, there.model, there.dimensions, dict(there.encoder_settings), there.made_with),
            *(there.field, there.document, there.count, finished, table),
        )
        more = _send(there, writer, commit, of)
        sent += sum(load.size for load in more)
        sets.append(replace(of, loads=(*finished, *(load.load for load in more))))
    return tuple(sets), sent


def _table(there: Embeddings, writer: Writer) -> str:
    """The table for vectors: their own where they have a graph, and the engine supports one."""
    if not there.connected or writer.engine.version < GRAPHS:
        return "vectors"
    name = f"near_{fingerprint([there.name, there.dimensions])[:12]}"
    create_graph(writer.engine, name, there.dimensions, replicated=writer.replicated)
    return name


def _send(there: Embeddings, writer: Writer, commit: Commit, of: VectorSet) -> list[Load]:
    """Send the vectors of documents that have none yet; return the loads."""
    reader, loads = writer.reader(commit), writer.loads
    documents = np.flatnonzero(there.present)
    numbered = reader.ask("SELECT docno, document FROM {all[documents]} WHERE {live}", apart=True, live=reader.where())
    new = dict(numbered.rows("docno", "document"))
    numbers_there = np.array([new[docno] for docno in there.index.docnos(documents).tolist()], dtype=np.int64)
    having = reader.ask(
        "SELECT document FROM {table} WHERE name = {name} AND load IN {loads}",
        apart=True,
        table=reader.engine.all[of.table],
        name=of.name,
        loads=of.loads or (0,),
    )
    missing = ~np.isin(numbers_there, having.integers("document"))
    documents, numbers_there = documents[missing], numbers_there[missing]
    made = []
    for start in range(0, len(documents), VECTORS_A_LOAD):
        end = min(start + VECTORS_A_LOAD, len(documents))
        load = loads.begin(VECTORS, end - start)
        for at in range(start, end, TOGETHER):
            part = slice(at, min(at + TOGETHER, end))
            count = part.stop - part.start
            columns = {
                "name": texts([there.name] * count),
                "document": numbers("UInt32", numbers_there[part]),
                "load": numbers("UInt32", np.full(count, load.load)),
                "vector": vectors(there.vectors(documents[part])),
            }
            writer.send([(of.table, columns)])
        loads.finish(load)
        made.append(load)
    return made
