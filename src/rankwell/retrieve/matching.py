"""Match functions: which documents of an index a query considers (OR, AND, nearest by embedding)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, ClassVar

from rankwell.core import ParameterError
from rankwell.index import Mask, SearchIndex
from rankwell.vectors import vectors_of


@dataclass(frozen=True)
class Asked:
    """A query for matching: its text, and the searched fields."""

    text: str
    fields: tuple[str, ...] = ("",)


def nothing(index: SearchIndex) -> Mask:
    """A mask without documents."""
    return index.live & ~index.live


def holding(index: SearchIndex, term: str, fields: Sequence[str]) -> Mask:
    """Mask of the documents with the term in any of the fields."""
    return reduce(or_, [index.holding(term, field) for field in fields], nothing(index))


def holding_terms(index: SearchIndex, asked: Asked) -> list[Mask]:
    """A mask for each distinct term of a query: the documents with the term."""
    return [holding(index, term, asked.fields) for term in dict.fromkeys(index.analyzer(asked.text))]


class Match(ABC):
    """Selects the documents that a query considers: an immutable value."""

    @property
    def same_for_all(self) -> bool:
        """Whether all queries consider the same documents."""
        return False

    @abstractmethod
    def mask(self, asked: Asked, index: SearchIndex) -> Mask:
        """Mask of the matching documents; it may contain deleted ones (`matched` removes them)."""

    def words(self, text: str) -> str:
        """The plain words of a query to rank by."""
        return text

    def check(self, known: Sequence[str]) -> None:  # noqa: B027 -- most have nothing to check
        """Raise where the function needs a field that is not `known` in the index."""


@dataclass(frozen=True)
class AnyTerm(Match):
    """OR: at least one term of the query, in any searched field."""

    def mask(self, asked: Asked, index: SearchIndex) -> Mask:
        """The union over the query's terms."""
        return reduce(or_, holding_terms(index, asked), nothing(index))


@dataclass(frozen=True)
class AllTerms(Match):
    """AND: every term of the query, each in any searched field. A query without terms matches nothing."""

    def mask(self, asked: Asked, index: SearchIndex) -> Mask:
        """The intersection over the query's terms."""
        masks = holding_terms(index, asked)
        return reduce(and_, masks) if masks else nothing(index)


@dataclass(frozen=True)
class Joined(Match):
    """Several match functions combined."""

    operator: ClassVar[Callable[[Any, Any], Any]]

    parts: tuple[Match, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ParameterError(type(self).__name__, expected="one match function or more", found="none")

    @property
    def same_for_all(self) -> bool:
        """Whether this holds for every part."""
        return all(part.same_for_all for part in self.parts)

    def check(self, known: Sequence[str]) -> None:
        """Check every part."""
        for part in self.parts:
            part.check(known)

    def words(self, text: str) -> str:
        """The words of the first part that has any."""
        return next(filter(str.strip, (part.words(text) for part in self.parts)), "")

    def mask(self, asked: Asked, index: SearchIndex) -> Mask:
        """Combine the masks of all parts."""
        return reduce(type(self).operator, [part.mask(asked, index) for part in self.parts])


class Union(Joined):
    """Documents that match any of the parts."""

    operator = or_


class Intersection(Joined):
    """Documents that match all of the parts."""

    operator = and_


EXPECTED = "ann:K or ann:K:WIDTH, as in ann:100 or ann:100:1000"


@dataclass(frozen=True)
class Nearest(Match):
    """ANN: the k documents nearest to the query by embedding; fewer only where there are fewer.

    The HNSW graph is searched if there is one, else all vectors. `width` is the number of candidates
    in the graph: a wider search misses fewer of the k nearest. `vectors` names them where an index has
    several. A query without text matches nothing.
    """

    k: int
    width: int | None = None
    vectors: str | None = None

    def __post_init__(self) -> None:
        if self.k < 1 or (self.width is not None and self.width < self.k):
            raise ParameterError("match", expected=f"{EXPECTED}, the width not below K", found=self)

    @classmethod
    def parse(cls, argument: str | None) -> Nearest:
        """Parse the argument after `ann:`."""
        try:
            numbers = [int(part) for part in (argument or "").split(":")]
            k, width = (*numbers, None)[:2]
        except ValueError:
            numbers = []
        if len(numbers) not in {1, 2} or k is None:
            raise ParameterError("match", expected=EXPECTED, found=f"ann:{argument}" if argument else "ann")
        return cls(k, width)

    def mask(self, asked: Asked, index: SearchIndex) -> Mask:
        """Encode the query, and find its nearest documents."""
        if not asked.text.strip():
            return nothing(index)
        there = vectors_of(index, self.vectors)
        query = there.encoder().encode_queries([asked.text])
        method = "hnsw" if there.connected else "exact"
        return index.mask(there.search(query, self.k, method=method, width=self.width).documents)
