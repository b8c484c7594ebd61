"""Pipelines in one line: `bm25(title=0.25, abstract=0.6) | top 100 | cross-encoder(ms-marco-minilm-l12)`.

A line is steps with `|` between them. A step is a name, and in brackets values (`minilm-l6`), options (`pooling=max`)
or lines of its own (`fuse(bm25, dense(minilm-l6) | top 50)`). `top 100` needs no brackets. A value is a number, true
or false, a word, or text in quotes, which is needed for spaces, commas, brackets and braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rankwell.core.errors import shown
from rankwell.studies.file.errors import LineError

DEEPEST = 20  # nested lines at most
LONGEST = 10_000  # characters
TOP = "top"
TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>"[^"]*"|'[^']*')
      | (?P<word>[\w./~@+:-]+)
      | (?P<sign>[|(),=])
    )""",
    re.VERBOSE,
)
NUMBER = re.compile(r"[+-]?\d{1,15}|[+-]?(\d{1,15}\.\d{0,15}|\.\d{1,15}|\d{1,15})([eE][+-]?\d{1,2})?", re.ASCII)


@dataclass(frozen=True)
class Argument:
    """A value in brackets, with its name where it has one."""

    name: str | None
    value: Value
    place: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Call:
    """One step of a line."""

    name: str
    arguments: tuple[Argument, ...] = ()
    place: int = field(default=0, compare=False)

    def __str__(self) -> str:
        if self.name == TOP and len(self.arguments) == 1 and self.arguments[0].name is None:
            return f"{TOP} {_written(self.arguments[0].value)}"
        parts = [f"{a.name}={_written(a.value)}" if a.name else _written(a.value) for a in self.arguments]
        return f"{self.name}({', '.join(parts)})" if parts else self.name


@dataclass(frozen=True)
class PipelineLine:
    """A pipeline: its steps in order."""

    calls: tuple[Call, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.calls))


Value = str | int | float | bool | PipelineLine


def parse_line(text: str) -> PipelineLine:
    """Parse a line; a `LineError` has the place of a mistake."""
    if len(text) > LONGEST:
        raise LineError(f"expected a line of at most {LONGEST:,} characters, found {len(text):,}", LONGEST)
    reader = _Reader(text)
    line = reader.line(reader.call(0), 0)
    if reader.kind != "end":
        raise reader.wrong("| or the end of the line")
    return line


class _Reader:
    """A recursive-descent parser with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens = text, _tokens(text)
        self.kind, self.token, self.place = "", "", 0
        self.advance()

    def advance(self) -> str:
        """Move to the next token, and return the one before."""
        before = self.token
        self.kind, self.token, self.place = next(self._tokens)
        return before

    def wrong(self, expected: str) -> LineError:
        found = "the end of the line" if self.kind == "end" else shown(self.token)
        return LineError(f"expected {expected}, found {found}", self.place)

    def at(self, sign: str) -> bool:
        return self.kind == "sign" and self.token == sign

    def line(self, first: Call, depth: int) -> PipelineLine:
        """Parse the steps after the first, with `|` between them."""
        calls = [first]
        while self.at("|"):
            self.advance()
            calls.append(self.call(depth))
        return PipelineLine(tuple(calls))

    def call(self, depth: int) -> Call:
        """Parse a name and the arguments in its brackets."""
        if self.kind != "word":
            raise self.wrong("the name of a step")
        place, name = self.place, self.advance()
        if name == TOP and self.kind == "word":
            at = self.place
            return Call(name, (Argument(None, _plain(self.advance()), at),), place)
        return Call(name, self.arguments(depth), place)

    def arguments(self, depth: int) -> tuple[Argument, ...]:
        if not self.at("("):
            return ()
        self.advance()
        arguments: list[Argument] = []
        while not self.at(")"):
            arguments.append(self.argument(depth))
            if self.at(","):
                self.advance()
            elif not self.at(")"):
                raise self.wrong(", or )")
        self.advance()
        return tuple(arguments)

    def argument(self, depth: int) -> Argument:
        """Parse `value`, `name=value`, or a line."""
        place = self.place
        if self.kind != "word":
            return Argument(None, self.value(depth), place)
        word = self.advance()
        if not self.at("="):
            return Argument(None, self.line_or_word(word, place, depth), place)
        self.advance()
        return Argument(word, self.value(depth), place)

    def value(self, depth: int) -> Value:
        if self.kind == "text":
            return self.advance()[1:-1]
        if self.kind != "word":
            raise self.wrong("a value")
        place = self.place
        return self.line_or_word(self.advance(), place, depth)

    def line_or_word(self, word: str, place: int, depth: int) -> Value:
        """Parse a word: alone it is a value; before brackets or `|` it begins a line."""
        if not self.at("(") and not self.at("|"):
            return _plain(word)
        if depth >= DEEPEST:
            raise LineError(f"expected at most {DEEPEST} lines within one another, found more", self.place)
        return self.line(Call(word, self.arguments(depth + 1), place), depth + 1)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, text and place of every token; then the end token forever."""
    place, end = 0, len(text.rstrip())
    while place < end:
        match = TOKEN.match(text, place)
        if match is None:
            at = len(text) - len(text[place:].lstrip())
            quote = text[at] in "\"'"
            expected = "text that ends with the quote it began with" if quote else "a name, a value or one of | ( ) , ="
            raise LineError(f"expected {expected}, found {shown(text[at:])}", at)
        kind = match.lastgroup or ""
        yield kind, match[kind], match.start(kind)
        place = match.end()
    while True:
        yield "end", "", len(text)


def _plain(word: str) -> str | int | float | bool:
    """A word as a number, a truth value, or a name."""
    if word in ("true", "false"):
        return word == "true"
    if not NUMBER.fullmatch(word):
        return word
    return int(word) if word.lstrip("+-").isdecimal() else float(word)


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (int, PipelineLine)):
        return str(value)
    match = TOKEN.fullmatch(value)
    plain = match is not None and match.lastgroup == "word" and value == value.strip() and _plain(value) == value
    quote = "'" if '"' in value else '"'
    return value if plain else f"{quote}{value}{quote}"
