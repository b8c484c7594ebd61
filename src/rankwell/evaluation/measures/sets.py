"""Precision, recall, F and AP of everything that was returned, whatever its order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwell.core.errors import ParameterError
from rankwell.evaluation.judged import Judged, Values, share
from rankwell.evaluation.measures.measure import Measure


@dataclass(frozen=True, kw_only=True, repr=False)
class SetP(Measure):
    """Precision of the whole returned set, whatever its order.

    SetP = relevant returned / returned;  SetP(relative=True) = relevant returned / min(returned, R)

    (trec_eval's `set_P` and `set_relative_P`.)
    """

    name = "SetP"

    rel: int = 1
    relative: bool = False

    def per_query(self, judged: Judged) -> Values:
        """Relevant hits over returned documents."""
        most = judged.returned(None)
        if self.relative:
            most = np.minimum(most, judged.pool.relevant(self.rel))
        return share(judged.count(judged.relevant(self.rel)), most)


@dataclass(frozen=True, kw_only=True, repr=False)
class SetR(Measure):
    """Recall of the whole returned set, whatever its order.

    SetR = relevant returned / number of relevant documents

    (trec_eval's `set_recall`.)
    """

    name = "SetR"

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Relevant hits over relevant documents."""
        return share(judged.count(judged.relevant(self.rel)), judged.pool.relevant(self.rel))


@dataclass(frozen=True, kw_only=True, repr=False)
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

    def per_query(self, judged: Judged) -> Values:
        """The mean, as one fraction."""
        found = judged.count(judged.relevant(self.rel))
        whole = self.beta * judged.pool.relevant(self.rel) + judged.returned(None)
        return share((1 + self.beta) * found, whole)


@dataclass(frozen=True, kw_only=True, repr=False)
class SetAP(Measure):
    """Unranked average precision: what AP would be with the relevant documents spread evenly.

    SetAP = SetP * SetR

    (trec_eval's `set_map`.)
    """

    name = "SetAP"

    rel: int = 1

    def per_query(self, judged: Judged) -> Values:
        """Precision times recall."""
        found = judged.count(judged.relevant(self.rel))
        return share(found, judged.returned(None)) * share(found, judged.pool.relevant(self.rel))
