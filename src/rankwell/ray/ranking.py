"""Rank and re-rank many queries on a cluster, in chunks of queries, with a model of any family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankwell.core import Document, ParameterError, Queries, Query, RankwellError, Run, Stage
from rankwell.core.arrays import Floats, Integers, strings
from rankwell.core.progress import SILENT, Progress
from rankwell.index import SearchIndex, open_index, scheme_of
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.parade.ranking import Parade
from rankwell.models.reranking.reranker import Reranker
from rankwell.models.reranking.scores import Tally
from rankwell.pipelines import RankerOptions, RerankOptions
from rankwell.ray.cluster import Machines, On, connected, in_order, worker_address
from rankwell.ray.encoding import add, check_same, everywhere, growth, rerank_pairs_on
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
    columns: RunColumns | None = None
    documents: dict[str, Document] | None = None

    def run(self) -> Run:
        """The part as a run for a stage."""
        queries = Queries(Query(qid, texts) for qid, texts in self.queries)
        return Run.of_queries(queries) if self.columns is None else joined([self.columns], queries, self.documents)

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
        columns = RunColumns(
            tuple(qid for qid, _ in rankings),
            np.array([len(ranking) for _, ranking in rankings], dtype=np.int64),
            [docno for _, ranking in rankings for docno in ranking.docnos.tolist()],
            np.concatenate([ranking.scores for _, ranking in rankings]),
            run.tag,
        )
        read = chain.from_iterable(
            (*ranking.docnos[: reranker.k].tolist(), *reranker.also_reads(qid)) for qid, ranking in rankings
        )
        texts = {docno: (run.documents or {}).get(docno) for docno in dict.fromkeys(read)}
        yield RunPart(asked, columns, {docno: text for docno, text in texts.items() if text is not None})


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
        ranker = self.first.ranker(index, texts)
        return ranker if self.second is None else (ranker >> self.second.stage(index)).top(self.k)

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
    parts = []
    with connected(on) as cluster, cluster.workers(task) as workers:
        chunks = (RunPart(asked) for asked in in_parts(list(queries), queries, workers.count))
        for columns in in_order(workers.map(chunks)):
            progress.advance(len(columns.qids))
            parts.append(columns)
    return joined(parts, queries)


TALLIED = ("documents", "pairs", "kept", "empty")


@dataclass(frozen=True)
class Reranking:
    """A re-ranking task without an index: the texts come with the queries."""

    stage: Reranker
    fingerprint: str

    @classmethod
    def of(cls, reranker: Reranker) -> Reranking:
        """The task that does the same as this re-ranker."""
        stage = reranker.changed(index=None, model=everywhere(str(reranker.model)), tally=Tally())
        return cls(stage, stage.fingerprint())

    def open(self, threads: int) -> Work:
        """Load the model, and check that it is the same."""
        stage = self.stage.changed(threads=threads, quiet=True)
        stage.check()
        check_same(str(stage.model), stage, self.fingerprint)

        def work(part: RunPart) -> tuple[RunColumns, dict[str, int]]:
            with growth(lambda: stage.tally, TALLIED) as counts:
                return RunColumns.of(stage.apply(part.run())), counts

        return work

    def describe(self, chunk: RunPart) -> str:
        """Describe the chunk by its queries."""
        return str(chunk)


def rerank_queries_on(cluster: Machines, reranker: Reranker, run: Run) -> Run:
    """Re-rank on the workers of a cluster, query by query; the run is the same as without."""
    if run.queries is None:
        raise RankwellError("re-ranking: expected a run with its queries, found one without their texts")
    with_texts = run if reranker.index is None else replace(run, documents=reranker.index.documents)
    parts = []
    with (
        cluster.workers(Reranking.of(reranker)) as workers,
        Progress("re-ranking", unit="queries", total=len(run.qids), quiet=reranker.quiet) as progress,
    ):
        for columns, counts in in_order(workers.map(of_run(with_texts, reranker, run.queries, workers.count))):
            progress.advance(len(columns.qids))
            add(reranker.tally, counts)
            parts.append(columns)
    return joined(parts, run.queries, with_texts.documents)


@dataclass(frozen=True)
class RerankOn(Stage):
    """A re-ranker that runs on the workers of a cluster. The run is the same as without."""

    reranker: Reranker
    on: On = field(default="ray", compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.on, str):
            worker_address(self.on)

    @property
    def k(self) -> int:
        """Number of documents to re-rank per query."""
        return self.reranker.k

    def check(self) -> None:
        """Refuse what the re-ranker refuses, and a model that is not a name or a folder: workers could not load it."""
        if not isinstance(self.reranker.model, str):
            expected = "a name or a folder, for workers to load"
            raise ParameterError("model", expected=expected, found=self.reranker.model)
        self.reranker.check()

    def fingerprint(self) -> str:
        """The re-ranker's fingerprint: the place of the work does not matter."""
        return self.reranker.fingerprint()

    def apply(self, run: Run) -> Run:
        """Re-rank the top: pair by pair where the model scores pairs, else query by query."""
        with connected(self.on) as cluster:
            if isinstance(self.reranker, CrossEncoder) and not isinstance(self.reranker, Parade):
                return rerank_pairs_on(cluster, self.reranker, run)
            return rerank_queries_on(cluster, self.reranker, run)
