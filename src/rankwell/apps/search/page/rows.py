"""Search results as rows of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwell.analysis import Analyzer
from rankwell.apps.search.page.site import Site
from rankwell.apps.search.page.views import Pairs, address
from rankwell.apps.search.responses import HEADING, Piece, Result

DOCUMENT, WHY = "/document", "/why"
MOST_PASSAGES = 2
MOST_FACTS = 5
LONGEST_FACT = 80
LONGEST_TITLE = 300
LONGEST_MARKED = 100_000  # most characters in which matched words are marked

Pieces = Sequence[Piece]


@dataclass(frozen=True)
class Row:
    """A result with everything that its row shows. `new`: the model moved it here from another page."""

    q: str
    id: str
    rank: int
    title: Pieces
    facts: Sequence[tuple[str, str]]
    passages: Sequence[tuple[str, Pieces]]
    named: bool  # whether passages name their field
    first_rank: int | None
    moved: int | None
    new: bool
    grade: int | None
    link: str
    why: str
    back: str
    other: int | None = None  # its rank in the other ranking

    @property
    def other_words(self) -> str:
        """The rank in the other ranking, in words."""
        if self.other is None:
            return "only here"
        return "same rank" if self.other == self.rank else f"number {self.other}"


def title_of(fields: Mapping[str, str], docno: str) -> str:
    """The title to show for a document."""
    title = " ".join(fields.get(HEADING, "")[: 2 * LONGEST_TITLE].split())
    return cut(title, LONGEST_TITLE) if title else docno


def title_pieces(result: Result) -> Pieces:
    """The title with the matched words marked, if it is short enough to be shown whole."""
    whole = " ".join(result.fields.get(HEADING, "").split())
    pieces = result.snippet.get(HEADING, ())
    if whole and " ".join("".join(piece.text for piece in pieces).split()) == whole:
        return pieces
    return (Piece(title_of(result.fields, result.id), marked=False),)


def passages_of(result: Result) -> list[tuple[str, Pieces]]:
    """The passages of the other fields, those with the most matched words first."""
    others = [
        (name, with_dots(pieces, result.fields.get(name, "")))
        for name, pieces in result.snippet.items()
        if name != HEADING
    ]
    others.sort(key=lambda pair: -len({piece.text.lower() for piece in pair[1] if piece.marked}))
    return others[:MOST_PASSAGES]


def with_dots(pieces: Pieces, text: str) -> Pieces:
    """A passage with dots where the text continues before or after it."""
    passage = "".join(piece.text for piece in pieces)
    before = () if text.startswith(passage) else (Piece("… ", marked=False),)
    after = () if text.endswith(passage) else (Piece(" …", marked=False),)
    return (*before, *pieces, *after)


def facts_of(result: Result) -> list[tuple[str, str]]:
    """The id, and the metadata that fits into a line."""
    known = [(name, str_of(value)) for name, value in result.metadata.items() if value not in (None, "")]
    short = [(name, value) for name, value in known if len(value) <= LONGEST_FACT]
    named = [("id", cut(result.id, LONGEST_FACT))] if title_of(result.fields, result.id) != result.id else []
    return [*named, *short[:MOST_FACTS], ("score", f"{result.score:.3f}")]


def marked(text: str, terms: set[str], analyzer: Analyzer) -> list[Piece]:
    """A text with the matched words marked."""
    pieces, at = [], 0
    for term, _, start, end in analyzer.positions(text[:LONGEST_MARKED]) if terms else ():
        if term not in terms or start < at:
            continue
        pieces += [Piece(text[at:start], marked=False), Piece(text[start:end], marked=True)]
        at = end
    return [*pieces, Piece(text[at:], marked=False)]


def str_of(value: Any) -> str:
    """A metadata value as text: 2020.0 is 2020, a list has commas."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return ", ".join(map(str_of, value)) if isinstance(value, list | tuple) else str(value)


def cut(text: str, longest: int) -> str:
    """The text, cut to `longest` characters with dots at the end."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def row_of(
    site: Site, q: str, result: Result, pairs: Pairs, last: int, *, grade: int | None = None, side: Pairs | None = None
) -> Row:
    """A result's row; `pairs` are its page's parameters, `side` its place there, `last` the page's last rank."""
    first, own = result.first_rank, [("id", result.id), *(side or []), *pairs]
    return Row(
        q=q,
        id=result.id,
        rank=result.rank,
        title=title_pieces(result),
        facts=facts_of(result),
        passages=passages_of(result),
        named=side is None and len([name for name in site.index.fields if name != HEADING]) > 1,
        first_rank=first,
        moved=result.moved,
        new=first is not None and first > last,
        grade=grade,
        link=site.link(DOCUMENT, own),
        why=site.link(WHY, own),
        back=address("", pairs).removeprefix("?"),
    )
