"""Precision and recall of the top k and of everything returned; interpolated precision and the match ratio."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from rankwell.core.errors import ParameterError, Phrase
from rankwell.evaluation.judged import Judged, Values, share
from rankwell.evaluation.measures.measure import Effect, Measure


class P(Measure):
    """Precision of the top k. A list shorter than k is filled with documents that are not relevant.

    P@k = |{ i <= k : rel(d_i) >= r }| / k

    (trec_eval's `P_k`.)
    """

    name = "P"

    cutoff: int
    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        return judged.count(judged.relevant(self.rel, self.cutoff)) / self.cutoff


class R(Measure):
    """Recall of the top k.

    R@k = |{ i <= k : rel(d_i) >= r }| / number of relevant documents

    (trec_eval's `recall_k`.) With more documents of the list relevant both numbers grow alike, so it can only rise.
    """

    name = "R"

    cutoff: int
    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        return share(judged.count(judged.relevant(self.rel, self.cutoff)), judged.pool.relevant(self.rel))


class Rprec(Measure):
    """Precision (and recall) at R, the number of relevant documents of the query.

    Rprec = |{ i <= R : rel(d_i) >= r }| / R

    (trec_eval's `Rprec`.) Its depth moves with every new judgment, so it has no simple bounds.
    """

    name = "Rprec"
    effect = Effect.UNKNOWN

    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        relevant = judged.pool.relevant(self.rel)
        hits = judged.relevant(self.rel) & (judged.rank <= relevant[judged.query])
        return share(judged.count(hits), relevant)


# What is added before the fraction is cut off; 0.9 for "up" is trec_eval's, and leaves a fraction below 0.1 out.
ROUNDINGS = MappingProxyType({"nearest": 0.5, "up": 0.9})


class IPrec(Measure):
    """The best precision at any rank that reaches a level of recall.

    IPrec@x = max{ P@i : at least x * R relevant documents, rounded, stand at or above rank i }, or 0

    What stands after the @ is a share of the relevant documents, not a rank. This is trec_eval's `iprec_at_recall_x` as
    it is since version 10; with `rounding='up'` that of version 9, which pytrec_eval and ir-measures have.
    """

    name = "IPrec"
    at = "recall"
    effect = Effect.BOTH
    words = MappingProxyType({"rounding": ROUNDINGS})

    recall: float
    rel: int = 1
    rounding: str = "nearest"

    def __post_init__(self) -> None:
        if not 0 <= self.recall <= 1:
            raise ParameterError("IPrec, recall", expected="a number from 0 to 1", found=self.recall)
        super().__post_init__()

    def _per_query(self, judged: Judged) -> Values:
        needed = np.floor(self.recall * judged.pool.relevant(self.rel) + ROUNDINGS[self.rounding])
        relevant = judged.relevant(self.rel)
        enough = relevant & (judged.running(relevant) >= needed[judged.query])
        return judged.highest(enough, judged.running(relevant)[enough] / judged.rank[enough])


ROUND = 10  # runs are cut at multiples of this


class MatchRatio(Measure):
    """The share of the collection that a run returned. Lower means less work for the stages behind, not better results.

    MatchRatio = returned / N

    N is the size of the index that the run was made with, or `documents`: a run from a file does not know its index.
    The run must hold every matched document.
    """

    name = "MatchRatio"
    higher_is_better = False
    effect = Effect.NONE

    documents: int | None = None

    def _per_query(self, judged: Judged) -> Values:
        return judged.returned(None) / self._size(judged)

    def _size(self, judged: Judged) -> int:
        size = self.documents or len(judged.documents or ())
        if not size:
            expected = "the number of documents, as in MatchRatio(documents=420000), or the option --collection"
            raise ParameterError(
                self.name, expected=expected, found=Phrase("a run from a file, which does not know it")
            )
        return size

    def caveat(self, judged: Judged) -> str | None:
        """Says where several queries return the same round number of documents, because the run was cut there."""
        most = int(judged.retrieved.max(initial=0))
        cut = int((judged.retrieved == most).sum())
        if cut < 2 or most % ROUND or most >= self._size(judged):  # noqa: PLR2004 -- one may be chance
            return None
        return (
            f"{cut} queries return exactly {most:,} documents: the run was cut there (rank -k), so the ratio is too low"
        )


class SetP(Measure):
    """Precision of the whole returned set, whatever its order.

    SetP = relevant returned / returned;  SetP(relative=True) = relevant returned / min(returned, R)

    (trec_eval's `set_P` and `set_relative_P`.)
    """

    name = "SetP"

    rel: int = 1
    relative: bool = False

    def _per_query(self, judged: Judged) -> Values:
        most = judged.returned(None)
        if self.relative:
            most = np.minimum(most, judged.pool.relevant(self.rel))
        return share(judged.count(judged.relevant(self.rel)), most)


class SetR(Measure):
    """Recall of the whole returned set, whatever its order.

    SetR = relevant returned / number of relevant documents

    (trec_eval's `set_recall`.)
    """

    name = "SetR"

    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        return share(judged.count(judged.relevant(self.rel)), judged.pool.relevant(self.rel))


class SetF(Measure):
    """Weighted harmonic mean of set precision and set recall; 1 is the usual F1.

    SetF = (1 + beta) * P * R / (beta * P + R)

    trec_eval's `set_F`, where the weight is not squared as it is in van Rijsbergen's F-beta.
    """

    name = "SetF"

    beta: float = 1.0
    rel: int = 1

    def __post_init__(self) -> None:
        if not self.beta > 0:
            raise ParameterError("SetF, beta", expected="a number above 0", found=self.beta)
        super().__post_init__()

    def _per_query(self, judged: Judged) -> Values:
        hits = judged.count(judged.relevant(self.rel))
        whole = self.beta * judged.pool.relevant(self.rel) + judged.returned(None)
        return share((1 + self.beta) * hits, whole)


class SetAP(Measure):
    """Unranked average precision: what AP would be with the relevant documents spread evenly.

    SetAP = SetP * SetR

    (trec_eval's `set_map`.)
    """

    name = "SetAP"

    rel: int = 1

    def _per_query(self, judged: Judged) -> Values:
        hits = judged.count(judged.relevant(self.rel))
        return share(hits, judged.returned(None)) * share(hits, judged.pool.relevant(self.rel))
