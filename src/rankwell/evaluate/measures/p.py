"""Precision: how much of the top k is relevant."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class P(Measure):
    """Precision of the top k. A list shorter than k is filled with documents that are not relevant.

    P@k = |{ i <= k : rel(d_i) >= r }| / k

    (trec_eval's `P_k`.)
    """

    name = "P"

    cutoff: int
    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Relevant hits over k."""
        return judged.count(judged.relevant(self.rel, self.cutoff)) / self.cutoff
