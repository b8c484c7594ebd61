"""Filters on metadata: `year>=2020 and (source=PMC or source in (WHO, "Elsevier BV")) and not retracted=yes`.

    filter   parts between `or`; a part is conditions between `and`; `not` and parentheses as usual
    test     column = value | column != value | column < value | <= | > | >= | column in (value, value, ...) | column

A column alone asks whether the document has a value. Values are numbers, words, or text in single or double quotes
(needed where there are spaces, signs or one of the words of the language); the words of the language may be written in
capitals. A document without a value matches no comparison, not even `!=`; `not` is the plain opposite, so `not
year<2020` takes the documents without a year along, and `year>=2020` does not.

Numbers are compared as numbers. Text is compared as text, character code by character code, `<` too: that is the right
order for dates like 2020-03-01, and `published>=2020-03` does what it says. Dates and numbers may also be written as
in the file that was indexed: `opened>=31/12/2019`, `price<"25,94"`.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rankwell.core import NOTHING, ParameterError
from rankwell.index import Mask, MetadataColumn, protocol
from rankwell.index.columns import SIGNS
from rankwell.retrieve.syntax import And, Grammar, Leaf, Node, SyntaxTokens

LETTER = r"""[^\s()"'=!<>,]"""
BARE = re.compile(rf"{LETTER}+")
TOKEN = re.compile(
    rf"""(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<and>(?i:and))(?!{LETTER}) | (?P<or>(?i:or))(?!{LETTER}) | (?P<not>(?i:not))(?!{LETTER})
    |(?P<in>(?i:in))(?!{LETTER})
    |(?P<bare>{LETTER}+)
    |(?P<sign>==|!=|<=|>=|=|<|>)
    |(?P<open>\() | (?P<close>\)) | (?P<comma>,)
    |(?P<quote>["']) | (?P<mark>!)""",
    re.VERBOSE | re.DOTALL,
)
UNFIT = {"quote": "a closing quote for this one", "mark": "one of = != < <= > >="}
RESERVED = frozenset(("and", "or", "not", "in"))
Spelling = Callable[[str], Any]  # from text to a number or an ISO date; None for other text
TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Question(Leaf):
    """A condition on the values of one column."""

    column: str

    def __str__(self) -> str:
        return written(self.column)

    def of(self, column: MetadataColumn) -> Mask:
        """Mask of the documents that satisfy it; never one without a value."""
        return column.present() if column.kind == protocol.EMPTY else self.ask(column)

    def spelled(self, read: Spelling) -> Question:  # noqa: ARG002 -- most have no value
        """The same question with its values as the index keeps them."""
        return self

    @abstractmethod
    def ask(self, column: MetadataColumn) -> Mask:
        """Mask of the documents that satisfy it, for a column with values."""


@dataclass(frozen=True)
class Present(Question):
    """The document has a value."""

    def ask(self, column: MetadataColumn) -> Mask:
        """Mask of the documents with any value."""
        return column.present()


@dataclass(frozen=True)
class Compare(Question):
    """Compares the document's value with another."""

    sign: str
    value: str  # as written

    def __post_init__(self) -> None:
        if self.sign not in SIGNS:
            raise ParameterError("filter", expected=f"one of {' '.join(SIGNS)}", found=self.sign)

    def __str__(self) -> str:
        return f"{written(self.column)}{self.sign}{written(self.value)}"

    def spelled(self, read: Spelling) -> Compare:
        """The same comparison with the value as the index keeps it."""
        return replace(self, value=_kept(self.value, read))

    def ask(self, column: MetadataColumn) -> Mask:
        """Compare as numbers or as text, by the column's kind."""
        return column.compared(self.sign, fitting(self.value, column.kind, self.column))


@dataclass(frozen=True)
class OneOf(Question):
    """The document has one of these values."""

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ParameterError("filter", expected="one value or more after in", found=self.values)

    def __str__(self) -> str:
        return f"{written(self.column)} in ({', '.join(map(written, self.values))})"

    def spelled(self, read: Spelling) -> OneOf:
        """The same question with the values as the index keeps them."""
        return replace(self, values=tuple(_kept(value, read) for value in self.values))

    def ask(self, column: MetadataColumn) -> Mask:
        """Mask of the documents with one of these values."""
        return column.one_of([fitting(value, column.kind, self.column) for value in self.values])


def parse_filter(text: str) -> Node:
    """Parse a filter; an error names the column of the text and what was expected there."""
    return Grammar(SyntaxTokens("filter", text, TOKEN, UNFIT), _question, "", adjacent=False).whole()


def columns_of(condition: Node) -> tuple[str, ...]:
    """The metadata columns that a filter uses."""
    return tuple(dict.fromkeys(leaf.column for leaf, _ in condition.leaves() if isinstance(leaf, Question)))


def without_column(condition: Node, column: str) -> Node | None:
    """A filter without the parts between its `and`s that ask for this column alone; None where nothing is left."""
    parts = condition.parts if isinstance(condition, And) else (condition,)
    left = tuple(part for part in parts if columns_of(part) != (column,))
    return (And(left) if len(left) > 1 else left[0]) if left else None


def filter_mask(
    condition: Node, columns: Mapping[str, MetadataColumn], spellings: Mapping[str, Spelling] = NOTHING
) -> Mask:
    """Mask of the documents that pass the filter, over columns of one value per document.

    `spellings` read values as the source of a column wrote them: 31/12/2019, or 25,94.
    """
    check_columns(condition, columns)

    def ask(leaf: Leaf) -> Mask | None:
        if not isinstance(leaf, Question):
            return None
        asked = leaf.spelled(spellings[leaf.column]) if leaf.column in spellings else leaf
        return asked.of(columns[leaf.column])

    mask = condition.mask(ask)
    if mask is None:
        raise ParameterError("filter", expected="a question about a metadata column", found=str(condition))
    return mask


def check_columns(condition: Node, known: Collection[str]) -> None:
    """Raise where a filter uses an unknown column."""
    for name in columns_of(condition):
        if name not in known:
            expected = f"one of the metadata columns {', '.join(known)}" if known else "metadata (the index keeps none)"
            raise ParameterError("filter", expected=expected, found=name)


def fitting(text: str, kind: str, column: str) -> str | float:
    """The text converted to the column's kind of value."""
    if kind == protocol.TEXT:
        return text
    try:
        number = TRUTH[text.lower()] if text.lower() in TRUTH else float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ParameterError(f"filter, {column}", expected="a number, as the column holds numbers", found=text)
    return number


def _kept(text: str, read: Spelling) -> str:
    """A value as the index keeps it; as it is, where it is not in the spelling of the source."""
    value = read(text)
    return text if value is None else str(value)


def written(text: str) -> str:
    """A name or value as the parser reads it: quoted where needed."""
    if BARE.fullmatch(text) and text.lower() not in RESERVED:
        return text
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _question(grammar: Grammar) -> Node:
    tokens = grammar.tokens
    column = _text(tokens, 'the name of a metadata column, "(" or not')
    if tokens.next.kind == "sign":
        sign = tokens.take("sign", "a sign").text
        return Compare(column, "=" if sign == "==" else sign, _text(tokens, f"a value after {sign}"))
    if not tokens.skip("in"):
        return Present(column)
    tokens.take("open", '"(" after in')
    values = [_text(tokens, "a value")]
    while tokens.skip("comma"):
        values.append(_text(tokens, "a value after the comma"))
    tokens.take("close", '"," or ")"')
    return OneOf(column, tuple(values))


def _text(tokens: SyntaxTokens, expected: str) -> str:
    """A bare word or quoted text."""
    token = tokens.next
    if not (tokens.skip("bare") or tokens.skip("quoted")):
        tokens.refuse(expected)
    return token.text if token.kind == "bare" else re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
