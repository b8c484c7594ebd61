"""Counts, which a run sums up instead of averaging."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Measure
from rankwell.evaluate.pool import Values


@dataclass(frozen=True, kw_only=True, repr=False)
class Count(Measure):
    """A number of things a query; that of a run is the sum over its queries, as in trec_eval."""

    @property
    def is_mean(self) -> bool:
        """It is a sum."""
        return False

    def aggregate(self, values: Values, judged: Judged) -> float:  # noqa: ARG002 -- as the others
        """The sum."""
        return float(values.sum())
