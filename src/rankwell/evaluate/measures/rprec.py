"""R-precision: precision at the rank where a perfect list would have found everything."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Effect, Measure
from rankwell.evaluate.pool import Values, share


@dataclass(frozen=True, kw_only=True, repr=False)
class Rprec(Measure):
    """Precision (and recall) at R, the number of relevant documents of the query.

    Rprec = |{ i <= R : rel(d_i) >= r }| / R

    (trec_eval's `Rprec`.) Its depth moves with every new judgment, so it has no simple bounds.
    """

    name = "Rprec"
    effect = Effect.UNKNOWN

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Relevant hits down to rank R, over R."""
        relevant = judged.pool.relevant(self.rel)
        found = judged.relevant(self.rel) & (judged.rank <= relevant[judged.query])
        return share(judged.count(found), relevant)
