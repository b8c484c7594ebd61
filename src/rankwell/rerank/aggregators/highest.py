"""MaxP: the best of a document."""

from __future__ import annotations

import numpy as np

from rankwell.core.arrays import Integers
from rankwell.core.scales import Values
from rankwell.rerank.aggregators.aggregator import Aggregator


class Highest(Aggregator):
    """score(d) = max_i score(p_i)      (Dai and Callan, SIGIR 2019)."""

    name = "max"

    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The highest score."""
        found: Values = np.maximum.reduceat(scores, starts)
        return found
