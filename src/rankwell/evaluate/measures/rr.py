"""Reciprocal rank: how soon the first relevant document comes."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class RR(Measure):
    """Reciprocal rank of the first relevant document; its mean is MRR.

    RR@k = 1 / min{ i <= k : rel(d_i) >= r }, or 0

    (Voorhees, "The TREC-8 question answering track report", 1999; trec_eval's `recip_rank`.)
    """

    name = "RR"

    cutoff: int | None = None
    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """The largest reciprocal of a relevant hit's rank."""
        found = judged.relevant(self.rel, self.cutoff)
        return judged.highest(found, 1 / judged.rank[found])
