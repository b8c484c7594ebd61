"""AND, OR and NOT over anything that can be asked of a document: what expressions and filters have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError

# One a document: whether it matches. An index in ClickHouse has conditions (`rankwell.clickhouse.Selection`) in their
# place, for which &, | and ~ mean the same; so only these are used here.
Mask = npt.NDArray[np.bool_]

FEWEST = 2


class Node(ABC):
    """A part of a condition: immutable, and `str` gives the text that reads back as the same condition."""

    @abstractmethod
    def mask(self, ask: Ask) -> Mask | None:
        """Which documents match. `ask` answers for the leaves; None: the part says nothing (a stop word)."""

    @abstractmethod
    def leaves(self, *, negated: bool = False) -> Iterable[tuple[Leaf, bool]]:
        """What is asked, from left to right, and whether it stands under a NOT (or three)."""


class Leaf(Node):
    """A part that is asked as a whole."""

    def mask(self, ask: Ask) -> Mask | None:
        """What was answered."""
        return ask(self)

    def leaves(self, *, negated: bool = False) -> Iterable[tuple[Leaf, bool]]:
        """The leaf itself."""
        return ((self, negated),)


Ask = Callable[[Leaf], Mask | None]


@dataclass(frozen=True)
class Several(Node):
    """Two parts or more with the same word between them."""

    parts: tuple[Node, ...]

    def __post_init__(self) -> None:
        if len(self.parts) < FEWEST:
            raise ParameterError(type(self).__name__, expected="two parts or more", found=self.parts)

    def __str__(self) -> str:
        return f" {type(self).__name__.upper()} ".join(map(grouped, self.parts))

    def leaves(self, *, negated: bool = False) -> Iterable[tuple[Leaf, bool]]:
        """Those of the parts."""
        return (leaf for part in self.parts for leaf in part.leaves(negated=negated))

    def mask(self, ask: Ask) -> Mask | None:
        """All masks in one; parts that say nothing are left out."""
        masks = [found for part in self.parts if (found := part.mask(ask)) is not None]
        return self.join(masks) if masks else None

    @staticmethod
    @abstractmethod
    def join(masks: list[Mask]) -> Mask:
        """One mask of several."""


class And(Several):
    """Every part matches."""

    @staticmethod
    def join(masks: list[Mask]) -> Mask:
        """Their intersection."""
        return reduce(and_, masks)


class Or(Several):
    """At least one part matches."""

    @staticmethod
    def join(masks: list[Mask]) -> Mask:
        """Their union."""
        return reduce(or_, masks)


@dataclass(frozen=True)
class Not(Node):
    """The part does not match."""

    part: Node

    def __str__(self) -> str:
        return f"NOT {grouped(self.part)}"

    def leaves(self, *, negated: bool = False) -> Iterable[tuple[Leaf, bool]]:
        """Those of the part."""
        return self.part.leaves(negated=not negated)

    def mask(self, ask: Ask) -> Mask | None:
        """All documents but those of the part."""
        found = self.part.mask(ask)
        return None if found is None else ~found


def grouped(node: Node) -> str:
    """The text of a part inside another one: in parentheses where it has parts of its own."""
    return f"({node})" if isinstance(node, Several) else str(node)
