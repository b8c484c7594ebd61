"""Counts of queries and documents, which are summed over the queries, and the share of the top k that was judged."""

from __future__ import annotations

import numpy as np

from rankwell.evaluation.judged import Judged, Values, share
from rankwell.evaluation.measures.measure import Effect, Measure


class Count(Measure):
    """Base of counts per query; a run's value is the sum over its queries, as in trec_eval."""

    @property
    def is_mean(self) -> bool:
        """False: a run's value is a sum over queries."""
        return False

    def aggregate(self, values: Values, judged: Judged) -> float:  # noqa: ARG002 -- as the others
        """The sum over queries."""
        return float(values.sum())


class NumQ(Count):
    """The number of queries: all that have judgments, in the run or not (trec_eval's `num_q` with -c)."""

    name = "NumQ"
    effect = Effect.NONE

    def _per_query(self, judged: Judged) -> Values:
        return np.ones(len(judged.qids))


class NumRel(Count):
    """The number of judged documents of at least grade r (trec_eval's `num_rel`)."""

    name = "NumRel"

    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        return judged.pool.relevant(self.rel)


class NumRelRet(Count):
    """The number of returned documents of at least grade r (trec_eval's `num_rel_ret`)."""

    name = "NumRelRet"

    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        return judged.count(judged.relevant(self.rel))


class NumRet(Count):
    """The number of returned documents (trec_eval's `num_ret`), with `rel` of those with at least this grade."""

    name = "NumRet"

    rel: int | None = None

    def _per_query(self, judged: Judged) -> Values:
        return judged.returned(None) if self.rel is None else judged.count(judged.relevant(self.rel))


class NumUnjudged(Count):
    """The number of documents without judgment in the top k. Lower is better: the other measures are more reliable."""

    name = "NumUnjudged"
    higher_is_better = False
    effect = Effect.NONE

    cutoff: int | None = None

    def _per_query(self, judged: Judged) -> Values:
        return judged.unjudged(self.cutoff)


class JudgedShare(Measure):
    """The share of the top k that has a judgment, whatever its grade; of the returned documents where they are fewer.

    Judged@k = judged documents in the top k / min(k, returned)

    (ir-measures' `Judged`.) Where it is low, the other measures are unreliable.
    """

    name = "Judged"
    effect = Effect.NONE

    cutoff: int | None = None

    def _per_query(self, judged: Judged) -> Values:
        return share(judged.count(judged.within(self.cutoff)), judged.returned(self.cutoff))


class UnjudgedShare(Measure):
    """The share of the top k without judgment; empty ranks of a short list do not count as unjudged.

    Unjudged@k = unjudged documents in the top k / k

    (trec_eval's `unj_k`, except that a grade below 0 is a judgment here.)
    """

    name = "Unjudged"
    higher_is_better = False
    effect = Effect.NONE

    cutoff: int

    def _per_query(self, judged: Judged) -> Values:
        return judged.unjudged(self.cutoff) / self.cutoff
