"""Search results as rows of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rankwell.analysis import Analyzer
from rankwell.apps.search.page.ranking import Pairs
from rankwell.apps.search.page.site import Site
from rankwell.apps.search.page.views import View, address
from rankwell.apps.search.responses import HEADING, Result, SearchResponse, SnippetPiece

MOST_PASSAGES = 2
MOST_FACTS = 5
LONGEST_FACT = 80
LONGEST_TITLE = 300
LONGEST_MARKED = 100_000  # most characters in which matched words are marked

Pieces = Sequence[SnippetPiece]


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
    return (SnippetPiece(title_of(result.fields, result.id), marked=False),)


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
    before = () if text.startswith(passage) else (SnippetPiece("… ", marked=False),)
    after = () if text.endswith(passage) else (SnippetPiece(" …", marked=False),)
    return (*before, *pieces, *after)


def facts_of(result: Result) -> list[tuple[str, str]]:
    """The id, and the metadata that fits into a line."""
    known = [(name, str_of(value)) for name, value in result.metadata.items() if value not in (None, "")]
    short = [(name, value) for name, value in known if len(value) <= LONGEST_FACT]
    named = [("id", cut(result.id, LONGEST_FACT))] if title_of(result.fields, result.id) != result.id else []
    return [*named, *short[:MOST_FACTS], ("score", f"{result.score:.3f}")]


def marked(text: str, terms: set[str], analyzer: Analyzer) -> list[SnippetPiece]:
    """A text with the matched words marked."""
    pieces, at = [], 0
    for term, _, start, end in analyzer.positions(text[:LONGEST_MARKED]) if terms else ():
        if term not in terms or start < at:
            continue
        pieces += [SnippetPiece(text[at:start], marked=False), SnippetPiece(text[start:end], marked=True)]
        at = end
    return [*pieces, SnippetPiece(text[at:], marked=False)]


def str_of(value: Any) -> str:
    """A metadata value as text: 2020.0 is 2020, a list has commas."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return ", ".join(map(str_of, value)) if isinstance(value, list | tuple) else str(value)


def cut(text: str, longest: int) -> str:
    """The text, cut to `longest` characters with dots at the end."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


DOCUMENT, WHY = "/document", "/why"


def rows_of(site: Site, view: View, response: SearchResponse) -> list[Row]:
    """The results of a response as rows, with links and judgments."""
    pairs = replace(view, wait=False).pairs(site.usual)
    grades = site.grades(view.q)
    several = len([name for name in site.index.fields if name != HEADING]) > 1
    return [
        row_of(site, view.q, result, pairs, grade=grades.get(result.id), named=several, page=(view.offset, view.k))
        for result in response.results
    ]


def row_of(
    site: Site,
    q: str,
    result: Result,
    pairs: Pairs,
    *,
    named: bool,
    page: tuple[int, int],
    grade: int | None = None,
    inside: Pairs | None = None,
) -> Row:
    """A result's row; `pairs` are its page's parameters, `inside` its place there, `page` offset and page size."""
    offset, k = page
    first = result.first_rank
    return Row(
        q=q,
        id=result.id,
        rank=result.rank,
        title=title_pieces(result),
        facts=facts_of(result),
        passages=passages_of(result),
        named=named,
        first_rank=first,
        moved=result.moved,
        new=first is not None and first > offset + k,
        grade=grade,
        link=site.link(DOCUMENT, [("id", result.id), *(inside or []), *pairs]),
        why=site.link(WHY, [("id", result.id), *(inside or []), *pairs]),
        back=address("", pairs).removeprefix("?"),
    )
