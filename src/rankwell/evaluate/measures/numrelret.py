"""How many relevant documents were returned."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.count import Count
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class NumRelRet(Count):
    """The number of returned documents of at least grade r (trec_eval's `num_rel_ret`)."""

    name = "NumRelRet"

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Relevant hits."""
        return judged.count(judged.relevant(self.rel))
