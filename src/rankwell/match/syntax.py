"""The grammar that expressions and filters share: operands, parentheses, and NOT before AND before OR."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn

from rankwell.core import ParameterError
from rankwell.core.errors import Phrase as Wording
from rankwell.match.logic import And, Node, Not, Or

# Searchers nest a handful; each level costs the reader a few frames of Python's stack.
DEEPEST = 50

# The kinds of tokens that the grammar knows; a language adds those of its operands.
NOT, AND, OR, OPEN, CLOSE, END = "not", "and", "or", "open", "close", "end"


class Token(NamedTuple):
    """A piece of the text: its kind, what it says, and the column where it starts (from 1)."""

    kind: str
    text: str
    column: int


class Tokens:
    """The pieces of a text, taken from left to right."""

    def __init__(self, what: str, text: str, pattern: re.Pattern[str], unfit: Mapping[str, str]) -> None:
        """`pattern` has a named group for each kind of token; `unfit`: kinds that are refused, and what is expected."""
        self.what = what
        self._place = 0
        self._tokens: list[Token] = []
        for match in pattern.finditer(text):
            token = Token(str(match.lastgroup), match[str(match.lastgroup)], match.start() + 1)
            if token.kind in unfit:
                self.refuse(unfit[token.kind], token)
            self._tokens.append(token)
        self._end = Token(END, "", len(text) + 1)

    @property
    def next(self) -> Token:
        """The piece that stands next."""
        return self._tokens[self._place] if self._place < len(self._tokens) else self._end

    def take(self, kind: str, expected: str) -> Token:
        """The next piece, which must be of that kind."""
        token = self.next
        if token.kind != kind:
            self.refuse(expected)
        self._place += 1
        return token

    def skip(self, kind: str) -> bool:
        """Pass the next piece over if it is of that kind; whether it was."""
        found = self.next.kind == kind
        self._place += found
        return found

    def refuse(self, expected: str, token: Token | None = None) -> NoReturn:
        """Raise the error that names the column, what was expected there, and what was found."""
        found = token or self.next
        shown = Wording("the end") if found.kind == END else found.text
        raise ParameterError(f"{self.what}, column {found.column}", expected=expected, found=shown)


class Grammar:
    """Reads conditions whose operands are read by `operand`. With `adjacent`, operands side by side mean AND."""

    def __init__(self, tokens: Tokens, operand: Callable[[Grammar], Node], starts: str, *, adjacent: bool) -> None:
        """`starts`: the kinds of tokens with which an operand begins, besides NOT and parentheses."""
        self.tokens, self._operand = tokens, operand
        self._starts = frozenset((*starts.split(), NOT, OPEN)) if adjacent else frozenset()
        self._depth = 0

    def whole(self) -> Node:
        """The condition up to the end of the text."""
        node = self._either()
        if self.tokens.next.kind == CLOSE:
            self.tokens.refuse('no ")" without its "("')
        self.tokens.take(END, "AND, OR or the end")
        return node

    def operand(self) -> Node:
        """A condition in parentheses, or what the language has for operands."""
        if self.tokens.next.kind != OPEN:
            return self._operand(self)
        self._deeper()
        opening = self.tokens.next
        self.tokens.skip(OPEN)
        node = self._either()
        self.tokens.take(CLOSE, f'")" for the "(" of column {opening.column}')
        self._depth -= 1
        return node

    def _either(self) -> Node:
        parts = [self._both()]
        while self.tokens.skip(OR):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _both(self) -> Node:
        parts = [self._negated()]
        while self.tokens.skip(AND) or self.tokens.next.kind in self._starts:
            parts.append(self._negated())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negated(self) -> Node:
        if self.tokens.next.kind != NOT:
            return self.operand()
        self._deeper()
        self.tokens.skip(NOT)
        node = Not(self._negated())
        self._depth -= 1
        return node

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            self.tokens.refuse(f"at most {DEEPEST} parentheses and NOTs within each other")
