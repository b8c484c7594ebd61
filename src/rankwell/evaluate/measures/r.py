"""Recall: how many of the relevant documents are in the top k."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values, share


@dataclass(frozen=True, kw_only=True, repr=False)
class R(Measure):
    """Recall of the top k.

    R@k = |{ i <= k : rel(d_i) >= r }| / number of relevant documents

    (trec_eval's `recall_k`.) With more documents of the list relevant both numbers grow alike, so it can only rise.
    """

    name = "R"

    cutoff: int
    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Relevant hits over all relevant documents."""
        return share(judged.count(judged.relevant(self.rel, self.cutoff)), judged.pool.relevant(self.rel))
