"""Interpolated precision: the points of a recall-precision curve."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from rankwell.core.errors import ParameterError
from rankwell.evaluate.judged import Judged
from rankwell.evaluate.measures.measure import Effect, Measure
from rankwell.evaluate.pool import Values

# What is added before the fraction is cut off; 0.9 for "up" is trec_eval's, and leaves a fraction below 0.1 out.
ROUNDINGS = MappingProxyType({"nearest": 0.5, "up": 0.9})


@dataclass(frozen=True, kw_only=True, repr=False)
class IPrec(Measure):
    """The best precision at any rank that reaches a level of recall.

    IPrec@x = max{ P@i : at least x * R relevant documents, rounded, stand at or above rank i }, or 0

    What stands after the @ is a share of the relevant documents, not a rank. This is trec_eval's `iprec_at_recall_x` as
    it is since version 10; with `rounding='up'` that of version 9, which pytrec_eval and ir-measures have.
    """

    name = "IPrec"
    at = "recall"
    effect = Effect.BOTH

    recall: float
    rel: int = 1
    rounding: str = "nearest"

    def __post_init__(self) -> None:
        if not 0 <= self.recall <= 1:
            raise ParameterError("IPrec, recall", expected="a number from 0 to 1", found=self.recall)
        if self.rounding not in ROUNDINGS:
            raise ParameterError("IPrec, rounding", expected=" or ".join(map(repr, ROUNDINGS)), found=self.rounding)
        super().__post_init__()

    def per_query(self, judged: Judged) -> Values:
        """The highest precision at the relevant hits from the needed one on."""
        needed = np.floor(self.recall * judged.pool.relevant(self.rel) + ROUNDINGS[self.rounding])
        found = judged.relevant(self.rel)
        enough = found & (judged.running(found) >= needed[judged.query])
        return judged.highest(enough, judged.running(found)[enough] / judged.rank[enough])
