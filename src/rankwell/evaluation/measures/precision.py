"""Precision and recall at a cut-off, R-precision, interpolated precision, and the match ratio."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from rankwell.core.errors import ParameterError
from rankwell.evaluation.judged import Judged, Values, share
from rankwell.evaluation.measures.measure import Effect, Measure


@dataclass(frozen=True, kw_only=True, repr=False)
class P(Measure):
    """Precision of the top k. A list shorter than k is filled with documents that are not relevant.

    P@k = |{ i <= k : rel(d_i) >= r }| / k

    (trec_eval's `P_k`.)
    """

    name = "P"

    cutoff: int
    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Relevant hits over k."""
        return judged.count(judged.relevant(self.rel, self.cutoff)) / self.cutoff


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


@dataclass(frozen=True, kw_only=True, repr=False)
class Rprec(Measure):
    """Precision (and recall) at R, the number of relevant documents of the query.

    Rprec = |{ i <= R : rel(d_i) >= r }| / R

    (trec_eval's `Rprec`.) Its depth moves with every new judgment, so it has no simple bounds.
    """

    name = "Rprec"
    effect = Effect.UNKNOWN

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Relevant hits down to rank R, over R."""
        relevant = judged.pool.relevant(self.rel)
        found = judged.relevant(self.rel) & (judged.rank <= relevant[judged.query])
        return share(judged.count(found), relevant)


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


@dataclass(frozen=True, kw_only=True, repr=False)
class MatchRatio(Measure):
    """The share of the collection that a run returned. Lower means less work for the stages behind, not better results.

    MatchRatio(documents=N) = returned / N

    It needs the size of the collection, and a run that holds every matched document (no cut at 1,000).
    """

    name = "MatchRatio"
    higher_is_better = False
    effect = Effect.NONE

    documents: int

    def per_query(self, judged: Judged) -> Values:
        """Returned documents over all documents."""
        return judged.returned(None) / self.documents
