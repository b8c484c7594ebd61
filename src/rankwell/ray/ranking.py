"""Rank many queries on a cluster, in chunks of queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankwell.core import Document, Queries, Query, Run, Stage
from rankwell.core.arrays import Floats, Integers, strings
from rankwell.core.progress import SILENT, Progress
from rankwell.index import SearchIndex, open_index, scheme_of
from rankwell.models.reranking.reranker import Reranker
from rankwell.pipelines import RankerOptions, RerankOptions
from rankwell.ray.cluster import On, connected, in_order
from rankwell.ray.encoding import check_same, everywhere
from rankwell.ray.worker import Work

CHUNKS = 16  # chunks per worker: enough that none waits long for the last
MOST = 64  # most queries of a chunk


class RunColumns(NamedTuple):
    """The columns of a run, without texts."""

    qids: tuple[str, ...]
    sizes: Integers
    docnos: list[str]
    scores: Floats
    tag: str

    @classmethod
    def of(cls, run: Run) -> RunColumns:
        """The columns of this run."""
        return cls(run.qids, np.diff(run.offsets), run.docnos.tolist(), run.scores, run.tag)


class RunPart(NamedTuple):
    """Some queries with their wordings, and their documents so far."""

    queries: list[tuple[str, dict[str, str]]]
    found: RunColumns | None = None
    documents: dict[str, Document] | None = None

    def run(self) -> Run:
        """The part as a run for a stage."""
        queries = Queries(Query(qid, texts) for qid, texts in self.queries)
        return Run.of_queries(queries) if self.found is None else joined([self.found], queries, self.documents)

    def __str__(self) -> str:
        qids = [qid for qid, _ in self.queries]
        return f"{len(qids)} queries from {qids[0]} to {qids[-1]}"


def joined(
    parts: Sequence[RunColumns], queries: Queries | None, documents: Mapping[str, Document] | None = None
) -> Run:
    """Join parts into one run."""
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
    """Queries with their wordings, in chunks that keep all workers busy."""
    size = max(1, min(MOST, len(qids) // max(1, CHUNKS * workers)))
    for start in range(0, len(qids), size):
        yield [(qid, dict(queries[qid].texts)) for qid in qids[start : start + size]]


def of_run(run: Run, reranker: Reranker, queries: Queries, workers: int) -> Iterator[RunPart]:
    """A run in parts, with the document texts that a re-ranker needs for each query."""
    for asked in in_parts(run.qids, queries, workers):
        rankings = [(qid, run[qid]) for qid, _ in asked]
        found = RunColumns(
            tuple(qid for qid, _ in rankings),
            np.array([len(ranking) for _, ranking in rankings], dtype=np.int64),
            [docno for _, ranking in rankings for docno in ranking.docnos.tolist()],
            np.concatenate([ranking.scores for _, ranking in rankings]),
            run.tag,
        )
        read = chain.from_iterable(
            (*ranking.docnos[: reranker.k].tolist(), *reranker.also_reads(qid)) for qid, ranking in rankings
        )
        yield RunPart(asked, found, dict(_texts(dict.fromkeys(read), run.documents or {})))


def _texts(docnos: Iterable[str], documents: Mapping[str, Document]) -> Iterator[tuple[str, Document]]:
    for docno in docnos:
        document = documents.get(docno)
        if document is not None:
            yield docno, document


@dataclass(frozen=True)
class RankTask:
    """The task of `rankwell rank`, with an index that all workers can open: in a folder, or at an address."""

    address: str = field(repr=False)  # it may contain a password
    index_fingerprint: str
    first: RankerOptions
    second: RerankOptions | None
    k: int
    fingerprint: str

    @classmethod
    def of(
        cls, index: SearchIndex, first: RankerOptions, second: RerankOptions | None, k: int, address: str | None = None
    ) -> RankTask:
        """The task for this index and these stages; `address` where the index is not in a folder."""
        place = address if address is not None and scheme_of(address) else str(Path(index.path).resolve())
        if second is not None:
            second = replace(second, rerank=everywhere(second.model))
        task = cls(place, index.fingerprint(), first, second, k, "")
        stage = task.stage(index, {})
        stage.check()
        return replace(task, fingerprint=stage.fingerprint())

    def stage(self, index: SearchIndex, texts: dict[str, str]) -> Stage:
        """The pipeline for queries with these texts."""
        found = self.first.ranker(index, texts)
        return found if self.second is None else (found >> self.second.stage(index)).top(self.k)

    def open(self, threads: int) -> Work:
        """Open the index and load the models; check that they are the same."""
        first = replace(self.first, threads=threads)
        second = None if self.second is None else replace(self.second, threads=threads, quiet=True)
        here = replace(self, first=first, second=second)
        index = open_index(self.address)
        check_same(str(index.path), index, self.index_fingerprint)
        stage = here.stage(index, {})
        stage.check()
        check_same(str(index.path), stage, self.fingerprint)

        def work(part: RunPart) -> RunColumns:
            run = part.run()
            texts = {} if run.queries is None else run.queries.texts(self.first.query_field)
            return RunColumns.of(here.stage(index, texts).apply(run))

        return work

    def describe(self, chunk: RunPart) -> str:
        """Describe the chunk by its queries."""
        return str(chunk)


def rank_on(on: On, task: RankTask, queries: Queries, progress: Progress = SILENT) -> Run:
    """Rank on the workers of a cluster; the run is the same as without."""
    found = []
    with connected(on) as cluster, cluster.workers(task) as workers:
        chunks = (RunPart(asked) for asked in in_parts(list(queries), queries, workers.count))
        for columns in in_order(workers.map(chunks)):
            progress.advance(len(columns.qids))
            found.append(columns)
    return joined(found, queries)
