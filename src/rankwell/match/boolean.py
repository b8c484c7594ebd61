"""Matching by a boolean expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import and_, or_

from rankwell.core import ParameterError
from rankwell.match.expression import Field, Phrase, fields_of, parse_expression, wanted_text
from rankwell.match.functions import Match
from rankwell.match.logic import Leaf, Mask, Node
from rankwell.match.postings import Asked, Postings, holding, nothing

SHORTEST = 2  # terms of a phrase: one alone is a word

# A query file may ask for the same expression again and again.
read_expression = lru_cache(maxsize=1024)(parse_expression)


@dataclass(frozen=True)
class Boolean(Match):
    """A boolean expression (`rankwell.match.expression`): one for all queries, or with None each query's own text.

    A word stands for every term that the analysis makes of it (covid-19: both). A stop word says nothing, so that `the
    AND cat` is `cat`; an expression of nothing but stop words matches nothing. Phrases of two terms or more need an
    index that keeps positions.
    """

    expression: str | None = None

    def __post_init__(self) -> None:
        if self.expression is not None:
            read_expression(self.expression)

    @property
    def same_for_all(self) -> bool:
        """Where there is one expression for all."""
        return self.expression is not None

    def check(self, known: Sequence[str]) -> None:
        """Every field that the expression names must be there."""
        if self.expression is not None:
            check_fields(read_expression(self.expression), known)

    def words(self, text: str) -> str:
        """The query's own words; those that the expression asks for where it has none, or is the query itself."""
        if self.expression is None:
            return wanted_text(read_expression(text)) if text.strip() else ""
        return text if text.strip() else wanted_text(read_expression(self.expression))

    def mask(self, asked: Asked, index: Postings) -> Mask:
        """What the expression says; an empty query says nothing and finds nothing."""
        text = asked.text if self.expression is None else self.expression
        if not text.strip():
            return nothing(index)
        expression = read_expression(text)
        check_fields(expression, index.fields)
        found = expression.mask(_Answers(index, asked.fields))
        return nothing(index) if found is None else found


def check_fields(expression: Node, known: Sequence[str]) -> None:
    """Raise where an expression names a field that is not there."""
    for name in fields_of(expression):
        if name not in known:
            expected = f"one of the fields {', '.join(known)}" if known else "no field (the index has none)"
            raise ParameterError("expression", expected=expected, found=name)


@dataclass(frozen=True)
class _Answers:
    """What the leaves of an expression say about an index, in these fields."""

    index: Postings
    fields: tuple[str, ...]

    def __call__(self, leaf: Leaf) -> Mask | None:
        if isinstance(leaf, Field):
            return leaf.inside.mask(_Answers(self.index, (leaf.name,)))
        if isinstance(leaf, Phrase):
            return self._phrase(leaf.words)
        return self._word(str(leaf))

    def _word(self, word: str) -> Mask | None:
        masks = [holding(self.index, term, self.fields) for term in self.index.analyzer(word)]
        return reduce(and_, masks) if masks else None

    def _phrase(self, words: str) -> Mask | None:
        if len(self.index.analyzer(words)) < SHORTEST:
            return self._word(words)
        return reduce(or_, [self.index.holding_phrase(words, field) for field in self.fields])
