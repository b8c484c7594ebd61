"""Re-rankers of any kind on a cluster: a few queries travel with the texts of their documents, rankings come back.

For models that do not score a document by itself (`duo`) or not by pairs of texts (`parade`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rankwell.core import Queries, RankwellError, Run
from rankwell.core.progress import Progress
from rankwell.rerank import Reranker, Tally
from rankwell.scale.cluster import Cluster
from rankwell.scale.functions import in_order
from rankwell.scale.models import check_same, everywhere
from rankwell.scale.parts import Columns, Part, joined, of_run
from rankwell.scale.tasks import Work

TALLIED = ("documents", "pairs", "kept", "empty")


@dataclass(frozen=True)
class Reranking:
    """A re-ranker without its index: the texts come with the queries."""

    stage: Reranker
    fingerprint: str

    @classmethod
    def of(cls, reranker: Reranker) -> Reranking:
        """This re-ranker."""
        stage = reranker.changed(index=None, model=everywhere(str(reranker.model)), tally=Tally())
        return cls(stage, stage.fingerprint())

    def open(self, threads: int) -> Work:
        """Load the model, and make sure that it is the same."""
        stage = self.stage.changed(threads=threads, quiet=True)
        stage.check()
        check_same(str(stage.model), stage, self.fingerprint)
        tally = stage.tally

        def work(part: Part) -> tuple[Columns, dict[str, int]]:
            before = replace(tally)
            found = Columns.of(stage.apply(part.run()))
            return found, {name: getattr(tally, name) - getattr(before, name) for name in TALLIED}

        return work

    def describe(self, chunk: Part) -> str:
        """By its queries."""
        return str(chunk)


def rerank_queries_on(cluster: Cluster, reranker: Reranker, run: Run) -> Run:
    """The same run as here, worked out by the workers of a cluster."""
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
