"""Search results as rows of a page, facets with their counts, and the active filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from rankwell.analysis import Analyzer
from rankwell.apps.search.page.site import Site
from rankwell.apps.search.page.views import Filters, Pairs, Range, View, address, as_text
from rankwell.apps.search.responses import HEADING, Piece, Result
from rankwell.apps.search.searcher import SearchState
from rankwell.index import DateFacet, Mask, RangeFacet, SearchIndex, ValueFacet
from rankwell.retrieve import filtered

DOCUMENT, WHY = "/document", "/why"
MOST_PASSAGES = 2
MOST_FACTS = 5
LONGEST_FACT = 80
LONGEST_TITLE = 300
LONGEST_MARKED = 100_000  # most characters in which matched words are marked
MOST_VALUES = 8
LONGEST_VALUE = 60
LATEST = "9999-99"  # after every date
TALLEST = 38.0  # height of a bar in the chart's own units

Pieces = Sequence[Piece]
Link = Callable[[View], str]


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
    placed = [("pinned", "to this query")] if result.pinned else []
    return [*named, *short[:MOST_FACTS], ("score", f"{result.score:.3f}"), *placed]


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


@dataclass(frozen=True)
class Choice:
    """A value that can be chosen, or is chosen."""

    words: str
    count: str
    link: str
    on: bool


@dataclass(frozen=True)
class Bar:
    """A bar of a range's histogram."""

    height: float
    inside: bool
    words: str


@dataclass(frozen=True)
class Box:
    """The facet of one column: values to choose, or a range with its histogram."""

    name: str
    choices: tuple[Choice, ...] = ()
    others: str = ""
    bars: tuple[Bar, ...] = ()
    described: str = ""
    low: str = ""
    high: str = ""
    lowest: str = ""
    highest: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    dates: bool = False


@dataclass(frozen=True, eq=False)
class Matched:
    """The documents that match the query alone, and those that match each column's filter."""

    index: SearchIndex
    words: Mask
    filters: dict[str, Mask]

    @property
    def total(self) -> int:
        """Number of documents that match the query and all filters."""
        return int(self.without("").sum())

    def without(self, column: str) -> Mask:
        """The documents that match the query and all filters but that of one column."""
        others = (mask for name, mask in self.filters.items() if name != column)
        return reduce(and_, others, self.words)


def matched_by(state: SearchState, filters: Filters) -> Matched:
    """The documents that a search matches, by query and by filter."""
    words = replace(state, request=replace(state.request, filter=None)).matching()
    conditions = {column: filters.only(column).condition() for column in filters.columns}
    masks = {column: filtered(condition, state.index) for column, condition in conditions.items() if condition}
    return Matched(state.index, words, masks)


def boxes(
    matched: Matched, columns: tuple[str, ...], view: View, link: Link, pairs: Callable[[View], Pairs]
) -> list[Box]:
    """The facets of the columns that have values to choose."""
    if not (matched.words.any() or view.filters):
        return []
    made = []
    for name in columns:
        facet = matched.index.columns[name].facet(matched.without(name), MOST_VALUES)
        if isinstance(facet, RangeFacet):
            made.append(_range(name, facet, view, pairs(view.first_page(filters=view.filters.without(name)))))
        elif isinstance(facet, DateFacet):
            made.append(_date_range(name, facet, view, pairs(view.first_page(filters=view.filters.without(name)))))
        elif facet.counts or view.filters.chosen(name):
            made.append(_values(name, facet, view, link))
    return made


def _values(name: str, facet: ValueFacet, view: View, link: Link) -> Box:
    counts, chosen = dict(facet.counts), view.filters.chosen(name)
    values = [*(value for value in chosen if value not in counts), *counts]
    choices = tuple(
        Choice(
            cut(value, LONGEST_VALUE) or "(empty)",
            f"{counts[value]:,}" if value in counts else "",
            link(view.first_page(filters=view.filters.toggled(name, value))),
            value in chosen,
        )
        for value in values
    )
    return Box(name, choices, f"{facet.others:,} with other values" if facet.others else "")


def _range(name: str, facet: RangeFacet, view: View, pairs: Pairs) -> Box:
    bounds, tallest = view.filters.range(name), max((*facet.bars, 1))
    low, high = as_number(bounds.low, -np.inf), as_number(bounds.high, np.inf)
    bars = []
    for place, count in enumerate(facet.bars):
        start = facet.lowest + place * facet.width
        end = min(start + facet.width - (1 if facet.whole else 0), facet.highest)
        span = _number(start) if start == end else f"{_number(start)} to {_number(end)}"
        height = round(max(2.0, TALLEST * count / tallest), 1) if count else 0.0
        bars.append(Bar(height, end >= low and start <= high, f"{span}: {count:,}"))
    lowest, highest = _number(facet.lowest), _number(facet.highest)
    described = f"Documents by {name}, from {lowest} to {highest}"
    return Box(
        name,
        bars=tuple(bars),
        described=described,
        low=bounds.low,
        high=bounds.high,
        lowest=lowest,
        highest=highest,
        pairs=tuple(pairs),
    )


def _date_range(name: str, facet: DateFacet, view: View, pairs: Pairs) -> Box:
    bounds, tallest = view.filters.range(name), max(1, *(count for _, count in facet.bars))
    ends = [start for start, _ in facet.bars[1:]]
    bars = []
    for (start, count), end in zip(facet.bars, [*ends, LATEST], strict=True):
        height = round(max(2.0, TALLEST * count / tallest), 1) if count else 0.0
        # Dates compare as texts: the beginning of a day, a month or a year comes before all that is in it.
        inside = end > bounds.low and (not bounds.high or start <= bounds.high)
        bars.append(Bar(height, inside, f"{start}: {count:,}"))
    return Box(
        name,
        bars=tuple(bars),
        described=f"Documents by {name}, from {facet.lowest} to {facet.highest}",
        low=bounds.low,
        high=bounds.high,
        lowest=facet.lowest,
        highest=facet.highest,
        pairs=tuple(pairs),
        dates=True,
    )


def as_number(text: str, otherwise: float) -> float:
    """A bound as a number; `otherwise` where it is empty or a date."""
    try:
        return float(text)
    except ValueError:
        return otherwise


def _number(number: float) -> str:
    return as_text(number if number.is_integer() else float(f"{number:.6g}"))


def chips(filters: Filters, link: Callable[[Filters], str]) -> list[tuple[str, str]]:
    """The active filters in words, each with the page without it; `link` gives the address for other filters."""
    values = [
        (f"{column}: {cut(value, LONGEST_VALUE)}", link(filters.toggled(column, value)))
        for column, value in filters.values
    ]
    ranges = [(f"{column}: {_span(bounds)}", link(filters.without(column))) for column, bounds in filters.ranges]
    return values + ranges


def _span(bounds: Range) -> str:
    if bounds.low and bounds.high:
        return f"{bounds.low} to {bounds.high}"
    return f"from {bounds.low}" if bounds.low else f"to {bounds.high}"
