"""Match ratio: how much of the collection a query matches."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Effect, Measure
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class MatchRatio(Measure):
    """The share of the collection that a run returned. Lower means less work for the stages behind, not better results.

    MatchRatio(documents=N) = returned / N

    It needs the size of the collection, and a run that holds every matched document (no cut at 1,000).
    """

    name = "MatchRatio"
    higher_is_better = False
    effect = Effect.NONE

    documents: int

    def per_query(self, judged: Judged) -> Values:
        """Returned documents over all documents."""
        return judged.returned(None) / self.documents
