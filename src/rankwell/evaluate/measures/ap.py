"""Average precision: precision at every relevant document, averaged."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Effect, Measure
from rankwell.evaluate.pool import Values, share


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
