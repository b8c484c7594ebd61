"""Re-ranking on a cluster: pairs of query and text travel, scores come back, all else stays here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwell.core import Run
from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress
from rankwell.encode import Truncation
from rankwell.rerank import CrossEncoder, Scorer, load_scorer
from rankwell.scale.cluster import Cluster
from rankwell.scale.models import check_same, everywhere
from rankwell.scale.sizes import chunked, rounds
from rankwell.scale.tasks import Work
from rankwell.scale.truncation import added, cut_by
from rankwell.scale.workers import Workers

A_THREAD = 16  # pairs of a chunk

Pair = tuple[str, str]


@dataclass(frozen=True)
class PairScoring:
    """Score pairs with a model that every worker has under the same name, or in the same folder."""

    model: str
    options: Mapping[str, Any]
    fingerprint: str

    def open(self, threads: int) -> Work:
        """Load the model, and make sure that it is the same."""
        scorer = load_scorer(self.model, **self.options, threads=threads)
        check_same(self.model, scorer, self.fingerprint)

        def work(pairs: Sequence[Pair]) -> tuple[Floats, Truncation]:
            with cut_by(scorer) as cut:
                return scorer.logits(pairs), cut

        return work

    def describe(self, chunk: Sequence[Pair]) -> str:
        """By its first query."""
        return f'{len(chunk)} pairs from the query "{chunk[0][0][:60]}"'


class RemoteScorer:
    """A `Scorer` whose work is done by others."""

    def __init__(self, workers: Workers, here: Scorer) -> None:
        self._workers, self._here = workers, here
        self.truncated = Truncation()
        self.at_once = rounds(workers.threads, A_THREAD)

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """A row for each pair."""
        if not pairs:
            return self._here.logits(pairs)
        chunks = chunked(pairs, self._workers, A_THREAD)
        found: list[Floats] = [np.zeros(0, dtype=np.float32)] * len(chunks)
        for number, (logits, cut) in self._workers.map(chunks):
            found[number] = logits
            added(self.truncated, cut)
            progress.advance(len(logits))
        return np.concatenate(found)

    def scores(self, logits: Floats) -> Floats:
        """One number a pair to rank by."""
        return self._here.scores(logits)

    def probabilities(self, scores: Floats) -> Floats:
        """The same as probabilities of relevance."""
        return self._here.probabilities(scores)

    def fingerprint(self) -> str:
        """That of the model, wherever it runs: kept scores are good for both."""
        return self._here.fingerprint()


def rerank_pairs_on(cluster: Cluster, reranker: CrossEncoder, run: Run) -> Run:
    """The same run as here, its pairs scored by the workers of a cluster."""
    model, here = str(reranker.model), reranker.scorer()
    options = {name: getattr(reranker, name) for name in reranker.of_scorer}
    with cluster.workers(PairScoring(everywhere(model), options, here.fingerprint())) as workers:
        nothing: dict[str, Any] = dict.fromkeys((*reranker.of_scorer, "threads"))
        there = replace(reranker, model=RemoteScorer(workers, here), **nothing)
        return replace(there.apply(run), tag=reranker.name)
