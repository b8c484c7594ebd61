"""Vectors in ClickHouse: compared exhaustively with a query's, on the shards that hold them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankwell.clickhouse.manifest import VectorSet
from rankwell.clickhouse.values import Sql, sql
from rankwell.core import ParameterError, RankwellError
from rankwell.core.arrays import Floats, Integers
from rankwell.core.fingerprint import fingerprint
from rankwell.index import Hits, Mask
from rankwell.vectors import METHODS, Encoder
from rankwell.vectors.quantise import unit

if TYPE_CHECKING:
    from rankwell.clickhouse.index import ClickHouseIndex


PRODUCT = 24  # versions in which the engine has its own dot product
HNSW = METHODS[1]
SPARE = 32  # documents beyond k, which usually include the ties
WIDTH = 256  # fewest vectors that a search of the graph compares
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

        found: Encoder = load_text_encoder(self.model, **self._about.encoder)
        if found.fingerprint() != self._about.made_with or found.dimensions != self.dimensions:
            where = f"{self.index.path}, vectors {self.name}"
            raise RankwellError(
                f"{where}: expected the model that they were made with ({self.model}), found another one of that name"
            )
        return found

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
            found = list(pool.map(nearest, asked))
        return self.index.ranked(found, k)

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
