"""Set AP: precision times recall of all that was returned."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values, share


@dataclass(frozen=True, kw_only=True, repr=False)
class SetAP(Measure):
    """Unranked average precision: what AP would be with the relevant documents spread evenly.

    SetAP = SetP * SetR

    (trec_eval's `set_map`.)
    """

    name = "SetAP"

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Precision times recall."""
        found = judged.count(judged.relevant(self.rel))
        return share(found, judged.returned(None)) * share(found, judged.pool.relevant(self.rel))
