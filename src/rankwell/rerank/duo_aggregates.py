"""From the comparisons of a query's documents to one score each (S4 3.1.2).

p_ij is the probability that document i is more relevant than document j.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwell.core import ParameterError
from rankwell.core.scales import Values
from rankwell.rerank.placing import Mask

EVEN = 0.5
SAMPLE = "sample:"
EXPECTED = "sum, binary, min, max, or sample:M (the sum over M others, drawn by lot)"


@dataclass(frozen=True)
class DuoAggregate(ABC):
    """A way to make one score of a document's comparisons."""

    name: ClassVar[str]

    def against(self, count: int, lots: np.random.Generator) -> Mask:  # noqa: ARG002 -- SAMPLE alone draws lots
        """Which of a query's documents are compared: [i, j] where p_ij is needed."""
        return ~np.eye(count, dtype=bool)

    @abstractmethod
    def scores(self, chances: Values, against: Mask) -> Values:
        """The score of each document; `chances[i, j]` counts where `against[i, j]`."""

    def inferences(self, count: int) -> int:
        """How many comparisons so many documents need: all of them with all others, in both orders."""
        return count * (count - 1)


class Sum(DuoAggregate):
    """s_i = sum over j of p_ij."""

    name = "sum"

    def scores(self, chances: Values, against: Mask) -> Values:
        """How often a document is expected to win."""
        found: Values = np.where(against, chances, 0).sum(axis=1)
        return found


class Binary(DuoAggregate):
    """s_i = number of j with p_ij > 0.5."""

    name = "binary"

    def scores(self, chances: Values, against: Mask) -> Values:
        """How often a document wins."""
        found: Values = (against & (chances > EVEN)).sum(axis=1).astype(np.float64)
        return found


class Minimum(DuoAggregate):
    """s_i = min over j of p_ij."""

    name = "min"

    def scores(self, chances: Values, against: Mask) -> Values:
        """Against the strongest of the others; 0 for a document without any."""
        found = np.where(against, chances, np.inf).min(axis=1, initial=np.inf)
        return np.where(np.isfinite(found), found, 0)


class Maximum(DuoAggregate):
    """s_i = max over j of p_ij."""

    name = "max"

    def scores(self, chances: Values, against: Mask) -> Values:
        """Against the weakest of the others; 0 for a document without any."""
        found: Values = np.where(against, chances, 0).max(axis=1, initial=0)
        return found


@dataclass(frozen=True)
class Sample(Sum):
    """s_i = sum of p_ij over m of the other documents, drawn without replacement for each i: m instead of k - 1."""

    name = "sample"

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ParameterError("aggregate", expected=EXPECTED, found=f"{SAMPLE}{self.count}")

    def against(self, count: int, lots: np.random.Generator) -> Mask:
        """For each document as many others as are asked for, or all."""
        found = np.zeros((count, count), dtype=bool)
        for place in range(count):
            others = np.delete(np.arange(count), place)
            found[place, lots.permutation(others)[: self.count]] = True
        return found

    def inferences(self, count: int) -> int:
        """M for each document, or as many as there are others."""
        return count * min(self.count, max(count - 1, 0))


DUO_AGGREGATES: Mapping[str, DuoAggregate] = {kind.name: kind for kind in (Sum(), Binary(), Minimum(), Maximum())}


def duo_aggregate(name: str) -> DuoAggregate:
    """`sum`, `binary`, `min`, `max`, or `sample:10`."""
    if name.startswith(SAMPLE) and name.removeprefix(SAMPLE).isdecimal():
        return Sample(int(name.removeprefix(SAMPLE)))
    if name not in DUO_AGGREGATES:
        raise ParameterError("aggregate", expected=EXPECTED, found=name)
    return DUO_AGGREGATES[name]
