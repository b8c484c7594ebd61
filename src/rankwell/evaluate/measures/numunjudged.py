"""How many documents nobody judged."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.count import Count
from rankwell.evaluate.measures.measure import Effect
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class NumUnjudged(Count):
    """The number of documents without judgment in the top k. Lower is better: the other measures rest on more."""

    name = "NumUnjudged"
    higher_is_better = False
    effect = Effect.NONE

    cutoff: int | None = None

    def per_query(self, judged: Judged) -> Values:
        """Documents that are no hits."""
        return judged.unjudged(self.cutoff)
