"""How many documents were returned."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.count import Count
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class NumRet(Count):
    """The number of returned documents (trec_eval's `num_ret`), with `rel` of those with at least this grade."""

    name = "NumRet"

    rel: int | None = None

    def per_query(self, judged: Judged) -> Values:
        """Returned documents, or relevant hits."""
        return judged.returned(None) if self.rel is None else judged.count(judged.relevant(self.rel))
