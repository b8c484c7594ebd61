"""How passage scores are combined into the document's score: FirstP, MaxP, SumP, mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from rankwell.core import ParameterError
from rankwell.core.arrays import Integers
from rankwell.core.run import Values


class Aggregator(ABC):
    """Combines the scores of a document's passages into one, independently of other documents."""

    name: ClassVar[str]
    enough: ClassVar[int | None] = None
    """How many passages it looks at, so that no others are scored; None for all."""

    @abstractmethod
    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The score of each document; its passages' scores begin at `starts`, and each has at least one."""


class First(Aggregator):
    """score(d) = score(p_1); the other passages are not scored.

    Dai and Callan, "Deeper text understanding for IR with contextual neural language modeling", SIGIR 2019.
    """

    name = "first"
    enough = 1

    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The first passage's score."""
        return scores[starts]


class Highest(Aggregator):
    """score(d) = max_i score(p_i)      (Dai and Callan, SIGIR 2019)."""

    name = "max"

    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The highest passage score of each document."""
        found: Values = np.maximum.reduceat(scores, starts)
        return found


class Mean(Aggregator):
    """score(d) = sum_i score(p_i) / n, where n counts the passages of this document alone.

    Dividing by the number of passages of the longest document in a padded batch would penalise short documents.
    """

    name = "mean"

    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The mean passage score of each document."""
        counts = np.diff(np.append(starts, len(scores)))
        found: Values = np.add.reduceat(scores, starts) / counts
        return found


class Total(Aggregator):
    """score(d) = sum_i score(p_i); favours long documents      (Dai and Callan, SIGIR 2019)."""

    name = "sum"

    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The sum of each document's passage scores."""
        found: Values = np.add.reduceat(scores, starts)
        return found


AGGREGATORS: dict[str, Aggregator] = {kind.name: kind for kind in (First(), Highest(), Mean(), Total())}


def aggregator(name: str) -> Aggregator:
    """The aggregator of that name."""
    if name not in AGGREGATORS:
        raise ParameterError("aggregate", expected=" or ".join(AGGREGATORS), found=name)
    return AGGREGATORS[name]
