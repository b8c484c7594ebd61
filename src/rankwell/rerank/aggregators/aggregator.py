"""What every way to make one score of a document's passages has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from rankwell.core.arrays import Integers
from rankwell.core.scales import Values


class Aggregator(ABC):
    """Makes one score of the scores of a document's passages, whatever else is scored with it."""

    name: ClassVar[str]
    enough: ClassVar[int | None] = None
    """How many passages it looks at, so that no others are scored; None for all."""

    @abstractmethod
    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The score of every document; its passages' scores begin at `starts`, and each has one or more."""
