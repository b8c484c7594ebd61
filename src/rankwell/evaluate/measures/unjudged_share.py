"""How much of the top k nobody judged."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Effect, Measure
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class UnjudgedShare(Measure):
    """The share of the top k without judgment; places that a short list leaves empty do not count as unjudged.

    Unjudged@k = unjudged documents in the top k / k

    (trec_eval's `unj_k`, except that a grade below 0 is a judgment here.)
    """

    name = "Unjudged"
    higher_is_better = False
    effect = Effect.NONE

    cutoff: int

    def per_query(self, judged: Judged) -> Values:
        """Documents that are no hits, over k."""
        return judged.unjudged(self.cutoff) / self.cutoff
