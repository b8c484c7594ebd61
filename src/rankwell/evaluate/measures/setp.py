"""Set precision: how much of all that was returned is relevant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values, share


@dataclass(frozen=True, kw_only=True, repr=False)
class SetP(Measure):
    """Precision of the whole returned set, whatever its order.

    SetP = relevant returned / returned;  SetP(relative=True) = relevant returned / min(returned, R)

    (trec_eval's `set_P` and `set_relative_P`.)
    """

    name = "SetP"

    rel: int = 1
    relative: bool = False

    def per_query(self, judged: Judged) -> Values:
        """Relevant hits over returned documents."""
        most = judged.returned(None)
        if self.relative:
            most = np.minimum(most, judged.pool.relevant(self.rel))
        return share(judged.count(judged.relevant(self.rel)), most)
