"""Average precision, inferred average precision, and binary preference (bpref)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwell.evaluation.judged import Judged, Values, share
from rankwell.evaluation.measures.measure import Effect, Measure


@dataclass(frozen=True, kw_only=True, repr=False)
class AP(Measure):
    """Average precision; its mean is MAP.

    AP@k = sum over i <= k of P@i * [rel(d_i) >= r], over the number of relevant documents

    The number of relevant documents is not capped at k (trec_eval's `map` and `map_cut_k`).
    """

    name = "AP"
    effect = Effect.BOTH

    cutoff: int | None = None
    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """The precisions at the relevant hits, over all relevant documents."""
        found = judged.relevant(self.rel, self.cutoff)
        precision = judged.running(found)[found] / judged.rank[found]
        return share(judged.total(found, precision), judged.pool.relevant(self.rel))


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


@dataclass(frozen=True, kw_only=True, repr=False)
class Bpref(Measure):
    """Binary preference: judged, not relevant documents ranked below relevant ones; unjudged documents are ignored.

    Bpref = 1/R * sum over relevant hits of 1 - min(N above it, R) / min(N, R)

    with R relevant and N judged, not relevant documents (Buckley and Voorhees, "Retrieval evaluation with incomplete
    information", SIGIR 2004). As in trec_eval, a grade below 0 means "pooled, not judged" here and is ignored too.
    """

    name = "Bpref"
    effect = Effect.UNKNOWN

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """The mean preference of the relevant documents."""
        pool = judged.pool
        relevant = pool.relevant(self.rel)
        others = pool.count((pool.grade >= 0) & (pool.grade < self.rel))
        found = judged.relevant(self.rel)
        above = judged.running((judged.grade >= 0) & ~found)[found]
        query = judged.query[found]
        broken = share(np.minimum(above, relevant[query]), np.minimum(others, relevant)[query])
        return share(judged.total(found, 1 - broken), relevant)
