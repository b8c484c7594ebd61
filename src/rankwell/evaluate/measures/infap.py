"""Inferred average precision, for pools of which only a sample was judged."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Effect, Measure
from rankwell.evaluate.pool import Values, share

SMOOTHING = 0.00001


@dataclass(frozen=True, kw_only=True, repr=False)
class InfAP(Measure):
    """Average precision in which the share of relevant documents above a rank is estimated from those judged.

    infAP = 1/R * sum over relevant hits at rank k of
            1/k + (k-1)/k * (pooled above / (k-1)) * (relevant above + e) / (judged above + 2e)

    A grade below 0 marks a document that was pooled and not judged; one without any judgment was not pooled and counts
    as not relevant (Yilmaz and Aslam, "Estimating average precision with incomplete and imperfect judgments",
    CIKM 2006; e as in trec_eval).
    """

    name = "infAP"
    effect = Effect.UNKNOWN

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """The expected precisions at the relevant hits, over all relevant documents."""
        found = judged.relevant(self.rel)
        relevant = judged.running(found)[found] - 1
        others = judged.running((judged.grade >= 0) & ~found)[found]
        pooled = relevant + others + judged.running(judged.grade < 0)[found]
        estimate = (relevant + SMOOTHING) / (relevant + others + 2 * SMOOTHING)
        expected = (1 + pooled * estimate) / judged.rank[found]
        return share(judged.total(found, expected), judged.pool.relevant(self.rel))
