"""AUC: the area under the ROC curve, over judged documents only."""

from __future__ import annotations

from itertools import pairwise
from types import MappingProxyType

import numpy as np

from rankwell.core import Floats
from rankwell.evaluation.judged import Judged, Mask, Values
from rankwell.evaluation.measures.measure import Effect, Measure
from rankwell.evaluation.run_analysis import auc

LAST, LEAVE_OUT = "last", "leave-out"


class AUC(Measure):
    """The probability that a relevant document has a higher score than a judged one that is not; a tie counts half.

    by='pairs':  over all judged query-document pairs together, as a classifier is measured; scores of different queries
                 are compared, so they must mean the same everywhere
    by='query':  within each query, averaged over the queries that have both kinds

    missing='last':       judged documents that the run lacks stand below all others, level with each other; otherwise a
                          run that returns only what it is sure of would look perfect
    missing='leave-out':  only returned documents count

    The values per query are those within queries either way, NaN where a query lacks one of the two kinds.
    """

    name = "AUC"
    effect = Effect.UNKNOWN
    words = MappingProxyType({"by": ("pairs", "query"), "missing": (LAST, LEAVE_OUT)})

    by: str = "pairs"
    rel: int = 1
    missing: str = LAST

    def _per_query(self, judged: Judged) -> Values:
        ends = np.searchsorted(judged.query, np.arange(len(judged.qids) + 1))
        relevant = judged.relevant(self.rel)
        good = judged.pool.relevant(self.rel)
        bad = judged.pool.count(judged.pool.grade < self.rel)
        spans = [slice(start, end) for start, end in pairwise(ends)]
        parts = zip(spans, good.tolist(), bad.tolist(), strict=True)
        return np.array([self._of(relevant[span], judged.score[span], *known) for span, *known in parts])

    def _of(self, relevant: Mask, score: Floats, good: float, bad: float) -> float:
        """The area over these returned documents, of `good` relevant and `bad` other judged ones."""
        found = auc(relevant, score)
        if self.missing == LEAVE_OUT:
            return found
        hits = float(np.sum(relevant))
        others = len(relevant) - hits
        above = (found * hits * others if hits and others else 0.0) + hits * (bad - others)
        level = (good - hits) * (bad - others) / 2
        return (above + level) / (good * bad) if good and bad else float("nan")

    @property
    def is_mean(self) -> bool:
        """Within queries it is; over all pairs together it is one number."""
        return self.by == "query"

    def aggregate(self, values: Values, judged: Judged) -> float:
        """Over all pairs, or the mean over the queries where it is defined."""
        if self.by == "pairs":
            good = float(np.sum(judged.pool.relevant(self.rel)))
            return self._of(judged.relevant(self.rel), judged.score, good, len(judged.pool.grade) - good)
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if len(defined) else float("nan")

    def caveat(self, judged: Judged) -> str | None:
        """How many judged documents the run lacks, and what becomes of them."""
        lacking = len(judged.pool.grade) - len(judged.grade)
        if not lacking:
            return None
        share = f"{lacking:,} of {len(judged.pool.grade):,} judged documents are not in the run"
        if self.missing == LEAVE_OUT:
            return f"{share} and are left out: it is about the returned documents alone"
        return f"{share} and count as ranked last, level with each other"
