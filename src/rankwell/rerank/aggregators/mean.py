"""The mean of a document's passages."""

from __future__ import annotations

import numpy as np

from rankwell.core.arrays import Integers
from rankwell.core.scales import Values
from rankwell.rerank.aggregators.aggregator import Aggregator


class Mean(Aggregator):
    """score(d) = sum_i score(p_i) / n, where n counts the passages of this document alone.

    Dividing by the longest document's number of passages, as padded batches invite to, would punish short documents.
    """

    name = "mean"

    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The mean."""
        counts = np.diff(np.append(starts, len(scores)))
        found: Values = np.add.reduceat(scores, starts) / counts
        return found
