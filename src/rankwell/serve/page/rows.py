"""Results as rows of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwell.analysis import Analyzer
from rankwell.serve.responses import Piece, Result
from rankwell.serve.snippets import HEADING

MOST_PASSAGES = 2
MOST_FACTS = 5
LONGEST_FACT = 80
LONGEST_TITLE = 300
LONGEST_MARKED = 100_000  # characters in which words are marked

Pieces = Sequence[Piece]


@dataclass(frozen=True)
class Row:
    """A result with all that its place on the page shows. `new`: another page had it before the model read it."""

    q: str
    id: str
    rank: int
    title: Pieces
    facts: Sequence[tuple[str, str]]
    passages: Sequence[tuple[str, Pieces]]
    named: bool  # whether passages say which field they are from
    first_rank: int | None
    moved: int | None
    new: bool
    grade: int | None
    link: str
    why: str
    back: str
    other: int | None = None  # its rank in the ranking beside

    @property
    def other_words(self) -> str:
        """Where the ranking beside has it."""
        if self.other is None:
            return "only here"
        return "same rank" if self.other == self.rank else f"number {self.other}"


def title_of(fields: Mapping[str, str], docno: str) -> str:
    """What to call a document."""
    title = " ".join(fields.get(HEADING, "")[: 2 * LONGEST_TITLE].split())
    return cut(title, LONGEST_TITLE) if title else docno


def title_pieces(result: Result) -> Pieces:
    """The title with the words that were found, if it is short enough to be there as a whole."""
    whole = " ".join(result.fields.get(HEADING, "").split())
    pieces = result.snippet.get(HEADING, ())
    if whole and " ".join("".join(piece.text for piece in pieces).split()) == whole:
        return pieces
    return (Piece(title_of(result.fields, result.id), marked=False),)


def passages_of(result: Result) -> list[tuple[str, Pieces]]:
    """The passages of the other fields, those with the most marks first."""
    others = [
        (name, with_dots(pieces, result.fields.get(name, "")))
        for name, pieces in result.snippet.items()
        if name != HEADING
    ]
    others.sort(key=lambda pair: -len({piece.text.lower() for piece in pair[1] if piece.marked}))
    return others[:MOST_PASSAGES]


def with_dots(pieces: Pieces, text: str) -> Pieces:
    """A passage that shows where the text goes on before and after it."""
    passage = "".join(piece.text for piece in pieces)
    before = () if text.startswith(passage) else (Piece("… ", marked=False),)
    after = () if text.endswith(passage) else (Piece(" …", marked=False),)
    return (*before, *pieces, *after)


def facts_of(result: Result) -> list[tuple[str, str]]:
    """The id, and metadata that fits into a line."""
    known = [(name, str_of(value)) for name, value in result.metadata.items() if value not in (None, "")]
    short = [(name, value) for name, value in known if len(value) <= LONGEST_FACT]
    named = [("id", cut(result.id, LONGEST_FACT))] if title_of(result.fields, result.id) != result.id else []
    return [*named, *short[:MOST_FACTS], ("score", f"{result.score:.3f}")]


def marked(text: str, terms: set[str], analyzer: Analyzer) -> list[Piece]:
    """A text with the words that were found."""
    pieces, at = [], 0
    for term, _, start, end in analyzer.positions(text[:LONGEST_MARKED]) if terms else ():
        if term not in terms or start < at:
            continue
        pieces += [Piece(text[at:start], marked=False), Piece(text[start:end], marked=True)]
        at = end
    return [*pieces, Piece(text[at:], marked=False)]


def str_of(value: Any) -> str:
    """A value of metadata as a person would write it: 2020.0 is 2020, a list has commas."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return ", ".join(map(str_of, value)) if isinstance(value, list | tuple) else str(value)


def cut(text: str, longest: int) -> str:
    """A text that goes on, told so."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
