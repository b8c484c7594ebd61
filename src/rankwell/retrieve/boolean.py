"""Boolean expressions such as `title:football AND (England OR "World Cup") NOT tennis`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import and_, or_

from rankwell.core import ParameterError
from rankwell.index import Mask, SearchIndex
from rankwell.retrieve.matching import Asked, Match, holding, nothing
from rankwell.retrieve.syntax import Grammar, Leaf, Node, SyntaxTokens

LETTER = r'[^\s()":“”*\[\]]'
WORD = re.compile(rf"{LETTER}+")
OPERATORS = frozenset(("AND", "OR", "NOT"))
TOKEN = re.compile(
    rf"""(?P<field>{LETTER}+):
    |(?P<and>AND)(?!{LETTER}) | (?P<or>OR)(?!{LETTER}) | (?P<not>NOT)(?!{LETTER})
    |(?P<word>{LETTER}+)
    |(?P<phrase>["“”](?:[^"“”\\]|\\.)*["“”])
    |(?P<open>\() | (?P<close>\))
    |(?P<quote>["“”]) | (?P<colon>:) | (?P<star>\*) | (?P<bracket>[\[\]])""",
    re.VERBOSE | re.DOTALL,
)
UNFIT = {
    "quote": "a closing quote for this one",
    "colon": "the name of a field before the colon",
    "star": "whole words (truncation is not supported; a stemmer finds most endings)",
    "bracket": "fields as in title:word",
}
OPERAND = 'a word, a "phrase", field:word, "(" or NOT'


@dataclass(frozen=True)
class Term(Leaf):
    """The document contains the word (all its terms, where the analysis gives several, as for covid-19)."""

    word: str

    def __post_init__(self) -> None:
        if not WORD.fullmatch(self.word) or self.word in OPERATORS:
            raise ParameterError("Term", expected="one word, which is no operator", found=self.word)

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True)
class Phrase(Leaf):
    """The document contains the words in a row."""

    words: str

    def __post_init__(self) -> None:
        if not self.words.strip():
            raise ParameterError("Phrase", expected="words between the quotes", found=self.words)

    def __str__(self) -> str:
        return '"' + re.sub(r'(["“”\\])', r"\\\1", self.words) + '"'


@dataclass(frozen=True)
class Field(Leaf):
    """Restricts the inner expression to one field."""

    name: str
    inside: Node

    def __post_init__(self) -> None:
        if not WORD.fullmatch(self.name):
            raise ParameterError("Field", expected="the name of a field", found=self.name)

    def __str__(self) -> str:
        bare = isinstance(self.inside, (Term, Phrase))
        return f"{self.name}:{self.inside}" if bare else f"{self.name}:({self.inside})"

    def leaves(self, *, negated: bool = False) -> Iterable[tuple[Leaf, bool]]:
        """The field itself, and the leaves inside."""
        yield self, negated
        yield from self.inside.leaves(negated=negated)


def parse_expression(text: str) -> Node:
    """Parse an expression; an error names the column and what was expected there."""
    return Grammar(SyntaxTokens("expression", text, TOKEN, UNFIT), _operand, "field word phrase", adjacent=True).whole()


def fields_of(expression: Node) -> tuple[str, ...]:
    """The fields that an expression names, to refuse unknown ones before the search."""
    return tuple(dict.fromkeys(leaf.name for leaf, _ in expression.leaves() if isinstance(leaf, Field)))


def wanted_text(expression: Node) -> str:
    """The words of an expression that are not excluded: the query to rank by, where none is given."""
    words = {Term: "word", Phrase: "words"}
    wanted = (leaf for leaf, negated in expression.leaves() if not negated)
    return " ".join(getattr(leaf, words[type(leaf)]) for leaf in wanted if type(leaf) in words)


def _operand(grammar: Grammar) -> Node:
    token = grammar.tokens.next
    if token.kind not in OPERANDS:
        grammar.tokens.refuse(OPERAND)
    return OPERANDS[token.kind](token.text, grammar)


def _term(text: str, grammar: Grammar) -> Node:
    grammar.tokens.skip("word")
    return Term(text)


def _phrase(text: str, grammar: Grammar) -> Node:
    words = re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
    if not words.strip():
        grammar.tokens.refuse("words between the quotes")
    grammar.tokens.skip("phrase")
    return Phrase(words)


def _field(text: str, grammar: Grammar) -> Node:
    grammar.tokens.skip("field")
    if grammar.tokens.next.kind in ("field", "not"):
        grammar.tokens.refuse(f'a word, a "phrase" or "(" after {text}:')
    return Field(text, grammar.operand())


OPERANDS: dict[str, Callable[[str, Grammar], Node]] = {"word": _term, "phrase": _phrase, "field": _field}


SHORTEST = 2  # terms of a phrase: one alone is a word

# A query file may repeat the same expression many times.
read_expression = lru_cache(maxsize=1024)(parse_expression)


@dataclass(frozen=True)
class Boolean(Match):
    """A boolean expression (`rankwell.retrieve.boolean`): one for all queries, or with None each query's own text.

    A word stands for all terms that the analysis makes of it (covid-19: both). Stop words are ignored, so that `the
    AND cat` is `cat`; an expression of only stop words matches nothing. Phrases of two terms or more need an
    index with positions.
    """

    expression: str | None = None

    def __post_init__(self) -> None:
        if self.expression is not None:
            read_expression(self.expression)

    @property
    def same_for_all(self) -> bool:
        """Whether there is one expression for all queries."""
        return self.expression is not None

    def check(self, known: Sequence[str]) -> None:
        """Refuse fields that the index lacks."""
        if self.expression is not None:
            check_fields(read_expression(self.expression), known)

    def words(self, text: str) -> str:
        """The query's own words; those of the expression where it has none, or is the query itself."""
        if self.expression is None:
            return wanted_text(read_expression(text)) if text.strip() else ""
        return text if text.strip() else wanted_text(read_expression(self.expression))

    def mask(self, asked: Asked, index: SearchIndex) -> Mask:
        """The documents that match the expression; none for an empty query."""
        text = asked.text if self.expression is None else self.expression
        if not text.strip():
            return nothing(index)
        expression = read_expression(text)
        check_fields(expression, index.fields)
        mask = expression.mask(_Answers(index, asked.fields))
        return nothing(index) if mask is None else mask


def check_fields(expression: Node, known: Sequence[str]) -> None:
    """Raise where an expression names an unknown field."""
    for name in fields_of(expression):
        if name not in known:
            expected = f"one of the fields {', '.join(known)}" if known else "no field (the index has none)"
            raise ParameterError("expression", expected=expected, found=name)


@dataclass(frozen=True)
class _Answers:
    """The matching documents of an expression's leaves, in these fields of an index."""

    index: SearchIndex
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
