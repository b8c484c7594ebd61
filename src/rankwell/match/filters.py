"""Filters on metadata: `year>=2020 and (source=PMC or source in (WHO, "Elsevier BV")) and not retracted=yes`.

    filter   parts between `or`; a part is conditions between `and`; `not` and parentheses as usual
    test     column = value | column != value | column < value | <= | > | >= | column in (value, value, ...) | column

A column alone asks whether the document has a value. Values are numbers, words, or text in single or double quotes
(needed where there are spaces, signs or one of the words of the language); the words of the language may be written in
capitals. A document without a value matches no comparison, not even `!=`; `not` is the plain opposite, so `not
year<2020` takes the documents without a year along, and `year>=2020` does not.

Numbers are compared as numbers. Text is compared as text, character code by character code, `<` too: that is the right
order for dates like 2020-03-01, and `published>=2020-03` does what it says.
"""

from __future__ import annotations

import math
import operator
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from rankwell.clickhouse import RemoteColumn, Selection
from rankwell.core import ParameterError
from rankwell.index.columns import Column, TextColumn
from rankwell.index.layout import Array
from rankwell.match.logic import Leaf, Mask, Node
from rankwell.match.syntax import Grammar, Tokens

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
TRUTH = {"true": 1.0, "false": 0.0}

SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Question(Leaf):
    """What is asked of one column."""

    column: str

    def __str__(self) -> str:
        return written(self.column)

    @abstractmethod
    def holds(self, values: Array) -> Any:
        """Which of the values fit: numbers, or text."""

    @abstractmethod
    def remote(self, column: RemoteColumn) -> Selection:
        """The same as a condition on a column in ClickHouse."""

    def of(self, column: Column) -> Mask:
        """Which documents fit. One without a value never does."""
        if isinstance(column, RemoteColumn):
            return cast("Mask", self.remote(column))
        if isinstance(column, TextColumn):
            # Once for every distinct value; the False behind them is what -1 finds.
            return np.asarray(np.append(self.holds(column.values), np.False_)[column.codes], dtype=bool)
        present = ~np.isnan(column.numbers)
        # A column in which nobody has a value may have been meant to hold text.
        return np.asarray(self.holds(column.numbers) & present, dtype=bool) if present.any() else present


@dataclass(frozen=True)
class Present(Question):
    """The document has a value."""

    def holds(self, values: Array) -> Any:
        """Whatever it is."""
        return np.ones(len(values), dtype=bool)

    def remote(self, column: RemoteColumn) -> Selection:
        """Whatever it is."""
        return column.present()


@dataclass(frozen=True)
class Compare(Question):
    """The document's value compares so with another."""

    sign: str
    value: str  # as it was written

    def __post_init__(self) -> None:
        if self.sign not in SIGNS:
            raise ParameterError("filter", expected=f"one of {' '.join(SIGNS)}", found=self.sign)

    def __str__(self) -> str:
        return f"{written(self.column)}{self.sign}{written(self.value)}"

    def holds(self, values: Array) -> Any:
        """By numbers or by text, as the column has it."""
        return SIGNS[self.sign](values, fitting(self.value, values, self.column))

    def remote(self, column: RemoteColumn) -> Selection:
        """By numbers or by text, as the column has it."""
        return column.compared(self.sign, fitting(self.value, column.sample, self.column))


@dataclass(frozen=True)
class OneOf(Question):
    """The document has one of these values."""

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ParameterError("filter", expected="one value or more after in", found=self.values)

    def __str__(self) -> str:
        return f"{written(self.column)} in ({', '.join(map(written, self.values))})"

    def holds(self, values: Array) -> Any:
        """Equal to any of them."""
        return np.logical_or.reduce([values == fitting(value, values, self.column) for value in self.values])

    def remote(self, column: RemoteColumn) -> Selection:
        """Equal to any of them."""
        return column.one_of(tuple(fitting(value, column.sample, self.column) for value in self.values))


def parse_filter(text: str) -> Node:
    """The filter that a text spells; an error names the column of the text and what was expected there."""
    return Grammar(Tokens("filter", text, TOKEN, UNFIT), _question, "", adjacent=False).whole()


def columns_of(condition: Node) -> tuple[str, ...]:
    """The metadata columns that a filter asks."""
    return tuple(dict.fromkeys(leaf.column for leaf, _ in condition.leaves() if isinstance(leaf, Question)))


def filter_mask(condition: Node, columns: Mapping[str, Column]) -> Mask:
    """Which documents the filter lets through, over columns of one value a document."""
    check_columns(condition, columns)
    found = condition.mask(lambda leaf: leaf.of(columns[leaf.column]) if isinstance(leaf, Question) else None)
    if found is None:
        raise ParameterError("filter", expected="a question about a metadata column", found=str(condition))
    return found


def check_columns(condition: Node, known: Collection[str]) -> None:
    """Raise where a filter asks a column that is not there."""
    for name in columns_of(condition):
        if name not in known:
            expected = f"one of the metadata columns {', '.join(known)}" if known else "metadata (the index keeps none)"
            raise ParameterError("filter", expected=expected, found=name)


def fitting(text: str, values: Array, column: str) -> str | float:
    """What was written, as the column's kind of value."""
    if values.dtype.kind == "T":
        return text
    try:
        number = TRUTH[text.lower()] if text.lower() in TRUTH else float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ParameterError(f"filter, {column}", expected="a number, as the column holds numbers", found=text)
    return number


def written(text: str) -> str:
    """A name or value as the language reads it back: in quotes where it needs them."""
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


def _text(tokens: Tokens, expected: str) -> str:
    """A bare word or quoted text."""
    token = tokens.next
    if not (tokens.skip("bare") or tokens.skip("quoted")):
        tokens.refuse(expected)
    return token.text if token.kind == "bare" else re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
