"""Mean first relevant: the average rank at which the first relevant document stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class MFR(Measure):
    """Mean rank of the first relevant document; k + 1 where the top k holds none. Lower is better.

    MFR@k = mean over queries of min{ i <= k : rel(d_i) >= r }, or k + 1

    Unlike the reciprocal rank this is an interval scale, so its mean means something
    (Fuhr, "Some common mistakes in IR evaluation", SIGIR Forum 2018).
    """

    name = "MFR"
    higher_is_better = False

    cutoff: int
    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """The smallest rank of a relevant hit."""
        found = judged.relevant(self.rel, self.cutoff)
        first = np.full(len(judged.qids), self.cutoff + 1.0)
        np.minimum.at(first, judged.query[found], judged.rank[found])
        return first
