"""Re-rankers of any kind on a cluster: a few queries travel with the texts of their documents, rankings come back.

For models that do not score a document by itself (`duo`) or not by pairs of texts (`parade`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from rankwell.core import Queries, RankwellError, Run, Stage
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

    stage: Stage
    fingerprint: str

    @classmethod
    def of(cls, reranker: Reranker) -> Reranking:
        """This re-ranker."""
        stage = _changed(reranker, index=None, model=everywhere(str(getattr(reranker, "model", ""))), tally=Tally())
        return cls(stage, stage.fingerprint())

    def open(self, threads: int) -> Work:
        """Load the model, and make sure that it is the same."""
        stage = _changed(self.stage, threads=threads, quiet=True)
        stage.check()
        check_same(str(getattr(stage, "model", stage)), stage, self.fingerprint)
        tally: Tally = getattr(stage, "tally", Tally())

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
    index = getattr(reranker, "index", None)
    with_texts = run if index is None else replace(run, documents=index.documents)
    asked: Queries = run.queries
    quiet = bool(getattr(reranker, "quiet", False))
    found = []
    with (
        cluster.workers(Reranking.of(reranker)) as workers,
        Progress("re-ranking", unit="queries", total=len(run.qids), quiet=quiet) as progress,
    ):
        for columns, counts in in_order(workers.map(of_run(with_texts, reranker.k, asked, workers.count))):
            progress.advance(len(columns.qids))
            for name, count in counts.items():
                setattr(reranker.tally, name, getattr(reranker.tally, name) + count)
            found.append(columns)
    return joined(found, asked, with_texts.documents)


def _changed(stage: Any, **changes: Any) -> Any:
    """A stage with other values for those of these parameters that it has."""
    known = {part.name for part in fields(stage)}
    return replace(stage, **{name: value for name, value in changes.items() if name in known})
