"""Rank-biased precision: what a reader gains who goes on to the next document with probability p."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwell.core.errors import ParameterError
from rankwell.evaluation.judged import Judged, Values
from rankwell.evaluation.measures.measure import Effect, Measure


@dataclass(frozen=True, kw_only=True, repr=False)
class RBP(Measure):
    """Rank-biased precision with persistence p.

    RBP = (1 - p) * sum over i of gain(d_i) * p^(i - 1)

    The gain is the grade over the highest grade that the query has; with `rel` it is 1 from this grade on and 0 below
    (Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 2008). trec_eval's `rbp`
    has p = 0.9.
    """

    name = "RBP"
    effect = Effect.BOTH

    p: float = 0.8
    cutoff: int | None = None
    rel: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise ParameterError("RBP, p", expected="a number between 0 and 1", found=self.p)
        super().__post_init__()

    def per_query(self, judged: Judged) -> Values:
        """The reader's expected gain."""
        found = judged.relevant(self.rel or 1, self.cutoff)
        gain = judged.grade[found] / judged.pool.highest[judged.query[found]] if self.rel is None else 1.0
        return (1 - self.p) * judged.total(found, gain * np.power(self.p, judged.rank[found] - 1))
