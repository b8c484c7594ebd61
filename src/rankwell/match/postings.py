"""What matching asks of an index, and of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Protocol

from rankwell.analysis import Analyzer
from rankwell.match.logic import Mask


class Postings(Protocol):
    """An index as matching sees it (`rankwell.index.Index` is one): masks over documents numbered from 0 to `size`.

    A field is known by its name; "" is the text of all indexed fields together.
    """

    analyzer: Analyzer
    fields: tuple[str, ...]
    size: int

    @property
    def live(self) -> Mask:
        """The documents that are not deleted."""

    def holding(self, term: str, field: str) -> Mask:
        """The documents whose field holds the term."""

    def holding_phrase(self, text: str, field: str) -> Mask:
        """The documents whose field holds the words of a text one after the other."""


@dataclass(frozen=True)
class Asked:
    """A query as matching sees it: its text, and the fields that are searched."""

    text: str
    fields: tuple[str, ...] = ("",)


def nothing(index: Postings) -> Mask:
    """No document at all."""
    return index.live & ~index.live


def holding(index: Postings, term: str, fields: Sequence[str]) -> Mask:
    """The documents that hold the term in any of the fields."""
    return reduce(or_, [index.holding(term, field) for field in fields], nothing(index))


def holding_terms(index: Postings, asked: Asked) -> list[Mask]:
    """For every distinct term of a query the documents that hold it."""
    terms = dict.fromkeys(index.analyzer(asked.text))
    return [holding(index, term, asked.fields) for term in terms]
