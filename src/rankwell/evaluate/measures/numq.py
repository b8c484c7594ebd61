"""How many queries were measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.count import Count
from rankwell.evaluate.measures.measure import Effect
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class NumQ(Count):
    """The number of queries: all that have judgments, in the run or not (trec_eval's `num_q` with -c)."""

    name = "NumQ"
    effect = Effect.NONE

    def per_query(self, judged: Judged) -> Values:
        """1 each."""
        return np.ones(len(judged.qids))
