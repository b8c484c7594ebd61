"""The grammar and the logic (AND, OR, NOT) that boolean expressions and filters share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, ClassVar, NamedTuple, NoReturn

from rankwell.core import ParameterError
from rankwell.core.errors import Phrase as Wording
from rankwell.index import Mask

FEWEST = 2


class Node(ABC):
    """A part of a condition: immutable; `str` gives text that parses to the same condition."""

    @abstractmethod
    def mask(self, ask: Ask) -> Mask | None:
        """Mask of the matching documents. `ask` gives the masks of leaves; None: the part is ignored (a stop word)."""

    @abstractmethod
    def leaves(self, *, negated: bool = False) -> Iterable[tuple[Leaf, bool]]:
        """The leaves from left to right, and whether an odd number of NOTs applies to each."""


class Leaf(Node):
    """A part without parts of its own."""

    def mask(self, ask: Ask) -> Mask | None:
        """The answer of `ask` for the leaf."""
        return ask(self)

    def leaves(self, *, negated: bool = False) -> Iterable[tuple[Leaf, bool]]:
        """The leaf itself."""
        return ((self, negated),)


Ask = Callable[[Leaf], Mask | None]


@dataclass(frozen=True)
class Several(Node):
    """Two or more parts joined by the same operator."""

    operator: ClassVar[Callable[[Any, Any], Any]]

    parts: tuple[Node, ...]

    def __post_init__(self) -> None:
        if len(self.parts) < FEWEST:
            raise ParameterError(type(self).__name__, expected="two parts or more", found=self.parts)

    def __str__(self) -> str:
        return f" {type(self).__name__.upper()} ".join(map(grouped, self.parts))

    def leaves(self, *, negated: bool = False) -> Iterable[tuple[Leaf, bool]]:
        """The leaves of all parts."""
        return (leaf for part in self.parts for leaf in part.leaves(negated=negated))

    def mask(self, ask: Ask) -> Mask | None:
        """Combine the masks of the parts; ignored parts are left out."""
        masks = [mask for part in self.parts if (mask := part.mask(ask)) is not None]
        return reduce(type(self).operator, masks) if masks else None


class And(Several):
    """Every part matches."""

    operator = and_


class Or(Several):
    """At least one part matches."""

    operator = or_


@dataclass(frozen=True)
class Not(Node):
    """The part does not match."""

    part: Node

    def __str__(self) -> str:
        return f"NOT {grouped(self.part)}"

    def leaves(self, *, negated: bool = False) -> Iterable[tuple[Leaf, bool]]:
        """The leaves of the part, negated."""
        return self.part.leaves(negated=not negated)

    def mask(self, ask: Ask) -> Mask | None:
        """All documents but those of the part."""
        mask = self.part.mask(ask)
        return None if mask is None else ~mask


def grouped(node: Node) -> str:
    """The text of a part inside another: in parentheses where it has parts of its own."""
    return f"({node})" if isinstance(node, Several) else str(node)


# Users nest a few levels; each level costs the parser a few frames of Python's stack.
DEEPEST = 50

# The token kinds of the grammar; a language adds those of its operands.
NOT, AND, OR, OPEN, CLOSE, END = "not", "and", "or", "open", "close", "end"


class Token(NamedTuple):
    """A token of the text: its kind, its text, and its column (from 1)."""

    kind: str
    text: str
    column: int


class SyntaxTokens:
    """The tokens of a text, read from left to right."""

    def __init__(self, what: str, text: str, pattern: re.Pattern[str], unfit: Mapping[str, str]) -> None:
        """`pattern` has a named group for each kind of token; `unfit`: refused kinds, with what is expected instead."""
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
        """The next token, without taking it."""
        return self._tokens[self._place] if self._place < len(self._tokens) else self._end

    def take(self, kind: str, expected: str) -> Token:
        """Take the next token, which must be of that kind."""
        token = self.next
        if token.kind != kind:
            self.refuse(expected)
        self._place += 1
        return token

    def skip(self, kind: str) -> bool:
        """Skip the next token if it is of that kind; return whether it was."""
        is_next = self.next.kind == kind
        self._place += is_next
        return is_next

    def refuse(self, expected: str, token: Token | None = None) -> NoReturn:
        """Raise an error with the column, what was expected there, and what was found."""
        token = token or self.next
        shown = Wording("the end") if token.kind == END else token.text
        raise ParameterError(f"{self.what}, column {token.column}", expected=expected, found=shown)


class Grammar:
    """Parses conditions with operands read by `operand`. With `adjacent`, adjacent operands mean AND."""

    def __init__(
        self, tokens: SyntaxTokens, operand: Callable[[Grammar], Node], starts: str, *, adjacent: bool
    ) -> None:
        """`starts`: the kinds of tokens that begin an operand, besides NOT and parentheses."""
        self.tokens, self._operand = tokens, operand
        self._starts = frozenset((*starts.split(), NOT, OPEN)) if adjacent else frozenset()
        self._depth = 0

    def whole(self) -> Node:
        """Parse the condition up to the end of the text."""
        node = self._either()
        if self.tokens.next.kind == CLOSE:
            self.tokens.refuse('no ")" without its "("')
        self.tokens.take(END, "AND, OR or the end")
        return node

    def operand(self) -> Node:
        """Parse a condition in parentheses, or an operand of the language."""
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
