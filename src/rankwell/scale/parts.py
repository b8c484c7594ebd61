"""Runs in parts: some queries at a time, as plain columns that travel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from rankwell.core import Document, Queries, Query, Run
from rankwell.core.arrays import Floats, Integers, strings
from rankwell.rerank import Reranker

CHUNKS = 16  # of each worker: then none waits long for the last
MOST = 64  # queries of a chunk


class Columns(NamedTuple):
    """A run without the texts."""

    qids: tuple[str, ...]
    sizes: Integers
    docnos: list[str]
    scores: Floats
    tag: str

    @classmethod
    def of(cls, run: Run) -> Columns:
        """Those of a run."""
        return cls(run.qids, np.diff(run.offsets), run.docnos.tolist(), run.scores, run.tag)


class Part(NamedTuple):
    """Some queries with their wordings, and what has been found for them so far."""

    queries: list[tuple[str, dict[str, str]]]
    found: Columns | None = None
    documents: dict[str, Document] | None = None

    def run(self) -> Run:
        """As a stage takes it."""
        queries = Queries(Query(qid, texts) for qid, texts in self.queries)
        return Run.of_queries(queries) if self.found is None else joined([self.found], queries, self.documents)

    def __str__(self) -> str:
        qids = [qid for qid, _ in self.queries]
        return f"{len(qids)} queries from {qids[0]} to {qids[-1]}"


def joined(parts: Sequence[Columns], queries: Queries | None, documents: Mapping[str, Document] | None = None) -> Run:
    """One run of its parts."""
    return Run.from_columns(
        [qid for part in parts for qid in part.qids],
        np.cumsum([0, *chain.from_iterable(part.sizes.tolist() for part in parts)]),
        strings([docno for part in parts for docno in part.docnos]),
        np.concatenate([np.zeros(0, dtype=np.float32), *(part.scores for part in parts)]),
        tag=parts[0].tag if parts else "rankwell",
        queries=queries,
        documents=documents,
    )


def in_parts(qids: Sequence[str], queries: Queries, workers: int) -> Iterator[list[tuple[str, dict[str, str]]]]:
    """Queries with their wordings, so many at a time that all workers have enough to do."""
    size = max(1, min(MOST, len(qids) // max(1, CHUNKS * workers)))
    for start in range(0, len(qids), size):
        yield [(qid, dict(queries[qid].texts)) for qid in qids[start : start + size]]


def of_run(run: Run, reranker: Reranker, queries: Queries, workers: int) -> Iterator[Part]:
    """A run in parts, with the texts of the documents that a re-ranker reads for each query."""
    for asked in in_parts(run.qids, queries, workers):
        rankings = [(qid, run[qid]) for qid, _ in asked]
        found = Columns(
            tuple(qid for qid, _ in rankings),
            np.array([len(ranking) for _, ranking in rankings], dtype=np.int64),
            [docno for _, ranking in rankings for docno in ranking.docnos.tolist()],
            np.concatenate([ranking.scores for _, ranking in rankings]),
            run.tag,
        )
        read = chain.from_iterable(
            (*ranking.docnos[: reranker.k].tolist(), *reranker.also_reads(qid)) for qid, ranking in rankings
        )
        yield Part(asked, found, dict(_texts(dict.fromkeys(read), run.documents or {})))


def _texts(docnos: Iterable[str], documents: Mapping[str, Document]) -> Iterator[tuple[str, Document]]:
    for docno in docnos:
        document = documents.get(docno)
        if document is not None:
            yield docno, document
