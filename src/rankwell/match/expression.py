r"""Boolean expressions: `title:football AND (England OR "World Cup") NOT tennis`, read only where they are asked for.

    expression  parts between OR
    part        operands between AND, or side by side: `heart failure` means `heart AND failure`
    operand     NOT operand | (expression) | field:operand | word | "phrase"

NOT binds before AND, and AND before OR. Operators are written in capitals; `and`, `or` and `not` are words. Operands
side by side mean AND, as in PubMed, Embase and Google (plain queries, which are never parsed, are matched by OR); so
`mutation NOT frameshift` is what PubMed's users expect. Unlike PubMed, which goes from left to right whatever the
operator, `a OR b AND c` is `a OR (b AND c)`. A field prefix stands before a word, a phrase or a group; the innermost
one counts. Inside quotes, \" is a quote and \\ a backslash. Truncation (`behav*`) and PubMed's `[tiab]` are not
supported, and refused rather than passed over in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rankwell.core import ParameterError
from rankwell.match.logic import Leaf, Node
from rankwell.match.syntax import Grammar, Tokens

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
    """The document holds the word (every term of it, where the analysis makes several, as of covid-19)."""

    word: str

    def __post_init__(self) -> None:
        if not WORD.fullmatch(self.word) or self.word in OPERATORS:
            raise ParameterError("Term", expected="one word, which is no operator", found=self.word)

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True)
class Phrase(Leaf):
    """The document holds the words one after the other."""

    words: str

    def __post_init__(self) -> None:
        if not self.words.strip():
            raise ParameterError("Phrase", expected="words between the quotes", found=self.words)

    def __str__(self) -> str:
        return '"' + re.sub(r'(["“”\\])', r"\\\1", self.words) + '"'


@dataclass(frozen=True)
class Field(Leaf):
    """What is inside is looked for in one field only."""

    name: str
    inside: Node

    def __post_init__(self) -> None:
        if not WORD.fullmatch(self.name):
            raise ParameterError("Field", expected="the name of a field", found=self.name)

    def __str__(self) -> str:
        bare = isinstance(self.inside, (Term, Phrase))
        return f"{self.name}:{self.inside}" if bare else f"{self.name}:({self.inside})"

    def leaves(self, *, negated: bool = False) -> Iterable[tuple[Leaf, bool]]:
        """The field itself, and what is inside."""
        yield self, negated
        yield from self.inside.leaves(negated=negated)


def parse_expression(text: str) -> Node:
    """The expression that a text spells; an error names the column and what was expected there."""
    return Grammar(Tokens("expression", text, TOKEN, UNFIT), _operand, "field word phrase", adjacent=True).whole()


def fields_of(expression: Node) -> tuple[str, ...]:
    """The fields that an expression names, so that unknown ones can be refused before anything is searched."""
    return tuple(dict.fromkeys(leaf.name for leaf, _ in expression.leaves() if isinstance(leaf, Field)))


def wanted_text(expression: Node) -> str:
    """The words that an expression asks for (not those it excludes): what to rank by where no query is given."""
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
