"""How many relevant documents there are."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.count import Count
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class NumRel(Count):
    """The number of judged documents of at least grade r (trec_eval's `num_rel`)."""

    name = "NumRel"

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Relevant documents, returned or not."""
        return judged.pool.relevant(self.rel)
