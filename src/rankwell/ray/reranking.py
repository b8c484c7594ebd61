"""Re-rank on a cluster, with a model of any family."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rankwell.core import ParameterError, Queries, RankwellError, Run, Stage
from rankwell.core.progress import Progress
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.parade.ranking import Parade
from rankwell.models.reranking.reranker import Reranker
from rankwell.models.reranking.scores import Tally
from rankwell.ray.cluster import Machines, On, connected, in_order, worker_address
from rankwell.ray.encoding import check_same, everywhere, rerank_pairs_on
from rankwell.ray.ranking import RunColumns, RunPart, joined, of_run
from rankwell.ray.worker import Work

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
        tally = stage.tally

        def work(part: RunPart) -> tuple[RunColumns, dict[str, int]]:
            before = replace(tally)
            found = RunColumns.of(stage.apply(part.run()))
            return found, {name: getattr(tally, name) - getattr(before, name) for name in TALLIED}

        return work

    def describe(self, chunk: RunPart) -> str:
        """Describe the chunk by its queries."""
        return str(chunk)


def rerank_queries_on(cluster: Machines, reranker: Reranker, run: Run) -> Run:
    """Re-rank on the workers of a cluster, query by query; the run is the same as without."""
    if run.queries is None:
        raise RankwellError("re-ranking: expected a run with its queries, found one without their texts")
    with_texts = run if reranker.index is None else replace(run, documents=reranker.index.documents)
    asked: Queries = run.queries
    found = []
    with (
        cluster.workers(Reranking.of(reranker)) as workers,
        Progress("re-ranking", unit="queries", total=len(run.qids), quiet=reranker.quiet) as progress,
    ):
        for columns, counts in in_order(workers.map(of_run(with_texts, reranker, asked, workers.count))):
            progress.advance(len(columns.qids))
            for name, count in counts.items():
                setattr(reranker.tally, name, getattr(reranker.tally, name) + count)
            found.append(columns)
    return joined(found, asked, with_texts.documents)


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
