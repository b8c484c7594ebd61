"""Set recall: how many of the relevant documents were returned at all."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values, share


@dataclass(frozen=True, kw_only=True, repr=False)
class SetR(Measure):
    """Recall of the whole returned set, whatever its order.

    SetR = relevant returned / number of relevant documents

    (trec_eval's `set_recall`.)
    """

    name = "SetR"

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Relevant hits over relevant documents."""
        return share(judged.count(judged.relevant(self.rel)), judged.pool.relevant(self.rel))
