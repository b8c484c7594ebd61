"""SumP: all that a document has to say."""

from __future__ import annotations

import numpy as np

from rankwell.core.arrays import Integers
from rankwell.core.scales import Values
from rankwell.rerank.aggregators.aggregator import Aggregator


class Total(Aggregator):
    """score(d) = sum_i score(p_i); long documents gain by it      (Dai and Callan, SIGIR 2019)."""

    name = "sum"

    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The sum."""
        found: Values = np.add.reduceat(scores, starts)
        return found
