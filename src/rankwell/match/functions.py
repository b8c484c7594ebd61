"""Match functions: which documents of an index a query looks at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from rankwell.core import ParameterError
from rankwell.match.logic import Mask
from rankwell.match.postings import Asked, Postings, holding_terms, nothing


class Match(ABC):
    """Says which documents a query looks at: an immutable value."""

    @property
    def same_for_all(self) -> bool:
        """Whether every query looks at the same documents."""
        return False

    @abstractmethod
    def mask(self, asked: Asked, index: Postings) -> Mask:
        """The documents that match; deleted ones may be among them (`matched` takes them out)."""

    def words(self, text: str) -> str:
        """The plain words to rank by for a query's text."""
        return text

    def check(self, known: Sequence[str]) -> None:  # noqa: B027 -- most have nothing to check
        """Raise where the function needs a field that the index (whose fields are `known`) does not have."""


@dataclass(frozen=True)
class AnyTerm(Match):
    """OR: at least one term of the query, in any searched field."""

    def mask(self, asked: Asked, index: Postings) -> Mask:
        """The union over terms."""
        return reduce(or_, holding_terms(index, asked), nothing(index))


@dataclass(frozen=True)
class AllTerms(Match):
    """AND: every term of the query, each in any searched field. A query without terms matches nothing."""

    def mask(self, asked: Asked, index: Postings) -> Mask:
        """The intersection over terms."""
        masks = holding_terms(index, asked)
        return reduce(and_, masks) if masks else nothing(index)


@dataclass(frozen=True)
class Joined(Match):
    """Several match functions as one."""

    parts: tuple[Match, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ParameterError(type(self).__name__, expected="one match function or more", found="none")

    @property
    def same_for_all(self) -> bool:
        """Where it is so for every part."""
        return all(part.same_for_all for part in self.parts)

    def check(self, known: Sequence[str]) -> None:
        """Check every part."""
        for part in self.parts:
            part.check(known)

    def words(self, text: str) -> str:
        """The words of the first part that has any."""
        return next(filter(str.strip, (part.words(text) for part in self.parts)), "")

    def mask(self, asked: Asked, index: Postings) -> Mask:
        """Ask every part, and join what they say."""
        return self.join([part.mask(asked, index) for part in self.parts])

    @staticmethod
    @abstractmethod
    def join(masks: list[Mask]) -> Mask:
        """One mask of several."""


class Union(Joined):
    """What any of the parts matches."""

    @staticmethod
    def join(masks: list[Mask]) -> Mask:
        """Any of them."""
        return reduce(or_, masks)


class Intersection(Joined):
    """What all of the parts match."""

    @staticmethod
    def join(masks: list[Mask]) -> Mask:
        """All of them."""
        return reduce(and_, masks)
