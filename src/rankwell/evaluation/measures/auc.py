"""AUC: the area under the ROC curve, over judged documents only."""

from __future__ import annotations

from itertools import pairwise
from types import MappingProxyType

import numpy as np

from rankwell.evaluation.judged import Judged, Values
from rankwell.evaluation.measures.measure import Effect, Measure
from rankwell.evaluation.run_analysis import auc


class AUC(Measure):
    """The probability that a relevant document has a higher score than a judged one that is not; a tie counts half.

    by='pairs':  over all judged query-document pairs of the run together, as a classifier is measured; scores of
                 different queries are compared, so they must mean the same everywhere
    by='query':  within each query, averaged over the queries that have both kinds

    Only returned documents have a score, so only they count. The values per query are those within queries either way,
    NaN where a query lacks one of the two kinds.
    """

    name = "AUC"
    effect = Effect.UNKNOWN
    words = MappingProxyType({"by": ("pairs", "query")})

    by: str = "pairs"
    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        ends = np.searchsorted(judged.query, np.arange(len(judged.qids) + 1))
        relevant = judged.relevant(self.rel)
        spans = [slice(start, end) for start, end in pairwise(ends)]
        return np.array([auc(relevant[span], judged.score[span]) for span in spans])

    @property
    def is_mean(self) -> bool:
        """Within queries it is; over all pairs together it is one number."""
        return self.by == "query"

    def aggregate(self, values: Values, judged: Judged) -> float:
        """Over all pairs, or the mean over the queries where it is defined."""
        if self.by == "pairs":
            return auc(judged.relevant(self.rel), judged.score)
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if len(defined) else float("nan")
