"""Success: whether the top k holds anything relevant."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class Success(Measure):
    """Whether the top k holds a relevant document (some call this recall or hit rate).

    Success@k = 1 if some i <= k has rel(d_i) >= r, else 0

    (trec_eval's `success_k`.)
    """

    name = "Success"

    cutoff: int
    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """1 where there is a relevant hit."""
        return (judged.count(judged.relevant(self.rel, self.cutoff)) > 0).astype(float)
