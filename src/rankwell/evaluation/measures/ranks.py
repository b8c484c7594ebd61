"""Measures of the ranks of relevant documents: the first one (RR, MFR, Success), or all (AP, infAP, Bpref, RBP)."""

from __future__ import annotations

import numpy as np

from rankwell.core.errors import ParameterError
from rankwell.evaluation.judged import Judged, Values, share
from rankwell.evaluation.measures.measure import Effect, Measure


class RR(Measure):
    """Reciprocal rank of the first relevant document; its mean is MRR.

    RR@k = 1 / min{ i <= k : rel(d_i) >= r }, or 0

    (Voorhees, "The TREC-8 question answering track report", 1999; trec_eval's `recip_rank`.)
    """

    name = "RR"

    cutoff: int | None = None
    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        relevant = judged.relevant(self.rel, self.cutoff)
        return judged.highest(relevant, 1 / judged.rank[relevant])


class MFR(Measure):
    """Mean rank of the first relevant document; k + 1 where the top k holds none. Lower is better.

    MFR@k = mean over queries of min{ i <= k : rel(d_i) >= r }, or k + 1

    Unlike the reciprocal rank this is an interval scale, so its mean means something
    (Fuhr, "Some common mistakes in IR evaluation", SIGIR Forum 2018).
    """

    name = "MFR"
    scale = (1.0, np.inf)
    higher_is_better = False

    cutoff: int
    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        relevant = judged.relevant(self.rel, self.cutoff)
        first = np.full(len(judged.qids), self.cutoff + 1.0)
        np.minimum.at(first, judged.query[relevant], judged.rank[relevant])
        return first


class Success(Measure):
    """Whether the top k holds a relevant document (some call this recall or hit rate).

    Success@k = 1 if some i <= k has rel(d_i) >= r, else 0

    (trec_eval's `success_k`.)
    """

    name = "Success"

    cutoff: int
    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        return (judged.count(judged.relevant(self.rel, self.cutoff)) > 0).astype(float)


class AP(Measure):
    """Average precision; its mean is MAP.

    AP@k = sum over i <= k of P@i * [rel(d_i) >= r], over the number of relevant documents

    The number of relevant documents is not capped at k (trec_eval's `map` and `map_cut_k`).
    """

    name = "AP"
    effect = Effect.BOTH

    cutoff: int | None = None
    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        relevant = judged.relevant(self.rel, self.cutoff)
        precision = judged.running(relevant)[relevant] / judged.rank[relevant]
        return share(judged.total(relevant, precision), judged.pool.relevant(self.rel))


SMOOTHING = 0.00001


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

    def _per_query(self, judged: Judged) -> Values:
        hits = judged.relevant(self.rel)
        relevant = judged.running(hits)[hits] - 1
        others = judged.running((judged.grade >= 0) & ~hits)[hits]
        pooled = relevant + others + judged.running(judged.grade < 0)[hits]
        estimate = (relevant + SMOOTHING) / (relevant + others + 2 * SMOOTHING)
        expected = (1 + pooled * estimate) / judged.rank[hits]
        return share(judged.total(hits, expected), judged.pool.relevant(self.rel))


class Bpref(Measure):
    """Binary preference: judged, not relevant documents ranked below relevant ones; unjudged documents are ignored.

    Bpref = 1/R * sum over relevant hits of 1 - min(N above it, R) / min(N, R)

    with R relevant and N judged, not relevant documents (Buckley and Voorhees, "Retrieval evaluation with incomplete
    information", SIGIR 2004). As in trec_eval, a grade below 0 means "pooled, not judged" here and is ignored too.
    """

    name = "Bpref"
    effect = Effect.UNKNOWN

    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        pool = judged.pool
        relevant = pool.relevant(self.rel)
        others = pool.count((pool.grade >= 0) & (pool.grade < self.rel))
        hits = judged.relevant(self.rel)
        above = judged.running((judged.grade >= 0) & ~hits)[hits]
        query = judged.query[hits]
        broken = share(np.minimum(above, relevant[query]), np.minimum(others, relevant)[query])
        return share(judged.total(hits, 1 - broken), relevant)


class RBP(Measure):
    """Rank-biased precision with persistence p.

    RBP = (1 - p) * sum over i of gain(d_i) * p^(i - 1)

    The gain is the grade over the highest grade that the query has; with `rel` it is 1 from this grade on and 0 below
    (Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 2008). trec_eval's `rbp`
    has p = 0.9.
    """

    name = "RBP"
    effect = Effect.BOTH

    p: float = 0.8
    cutoff: int | None = None
    rel: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise ParameterError("RBP, p", expected="a number between 0 and 1", found=self.p)
        super().__post_init__()

    def _per_query(self, judged: Judged) -> Values:
        relevant = judged.relevant(self.rel or 1, self.cutoff)
        gain = judged.grade[relevant] / judged.pool.highest[judged.query[relevant]] if self.rel is None else 1.0
        return (1 - self.p) * judged.total(relevant, gain * np.power(self.p, judged.rank[relevant] - 1))
