"""Binary preference: whether judged relevant documents stand above judged others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Effect, Measure
from rankwell.evaluate.pool import Values, share


@dataclass(frozen=True, kw_only=True, repr=False)
class Bpref(Measure):
    """How many of the first R judged, not relevant documents stand below a relevant one; unjudged ones are passed over.

    Bpref = 1/R * sum over relevant hits of 1 - min(N above it, R) / min(N, R)

    with R relevant and N judged, not relevant documents (Buckley and Voorhees, "Retrieval evaluation with incomplete
    information", SIGIR 2004). As in trec_eval, a grade below 0 means "pooled, not judged" here and is passed over too.
    """

    name = "Bpref"
    effect = Effect.UNKNOWN

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """The preferences that the list keeps, over those there are."""
        pool = judged.pool
        relevant = pool.relevant(self.rel)
        others = pool.count((pool.grade >= 0) & (pool.grade < self.rel))
        found = judged.relevant(self.rel)
        above = judged.running((judged.grade >= 0) & ~found)[found]
        query = judged.query[found]
        broken = share(np.minimum(above, relevant[query]), np.minimum(others, relevant)[query])
        return share(judged.total(found, 1 - broken), relevant)
