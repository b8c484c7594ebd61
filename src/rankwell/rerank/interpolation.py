"""Interpolation: a re-ranker's opinion beside that of the run it re-ranked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankwell.core import ParameterError, Run, Stage
from rankwell.core.scales import Values, unit
from rankwell.rerank.placing import Mask, Rescored, placed


@dataclass(frozen=True)
class Interpolate(Stage):
    """Mix a re-ranker with the run it re-ranked: alpha * reranker + (1 - alpha) * first.

    Both are brought to [0, 1] per query first, because BM25 has no fixed scale; over the re-ranked top only (`k`, or as
    deep as the re-ranker goes by itself). Documents below stay below.
    """

    reranker: Stage
    alpha: float = 0.5
    k: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ParameterError("alpha", expected="a number from 0 to 1", found=self.alpha)
        if self.k is not None and self.k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=self.k)

    def check(self) -> None:
        """Check the re-ranker."""
        self.reranker.check()

    def depth(self, run: Run) -> int:
        """How many documents of each query are mixed."""
        own = self.k or getattr(self.reranker.stages[0], "k", None)
        return int(own or np.diff(run.offsets).max(initial=1))

    def apply(self, run: Run) -> Run:
        """Re-rank, mix, and put the others below."""
        depth = self.depth(run)
        first = run.top(depth)
        second = self.reranker.apply(first)
        again, there = aligned(unit(second), second, first)
        found = Rescored(run.ranks <= depth, np.zeros(len(run)))
        found.scores[found.chosen] = self.alpha * again + (1 - self.alpha) * unit(first)
        found.chosen[found.chosen] = there
        return replace(placed(run, found), tag=second.tag)


def aligned(values: Values, of: Run, to: Run) -> tuple[Values, Mask]:
    """The values of a run's documents in the order of another run, and which of them there are."""
    bounds = dict(zip(of.qids, zip(of.offsets[:-1].tolist(), of.offsets[1:].tolist(), strict=True), strict=True))
    found = np.full(len(to), np.nan)
    place = 0
    for qid, ranking in to.rankings():
        start, end = bounds.get(qid, (0, 0))
        known = dict(zip(of.docnos[start:end].tolist(), values[start:end].tolist(), strict=True))
        found[place : place + len(ranking)] = [known.get(docno, np.nan) for docno in ranking.docnos.tolist()]
        place += len(ranking)
    there = ~np.isnan(found)
    return np.where(there, found, 0), there
