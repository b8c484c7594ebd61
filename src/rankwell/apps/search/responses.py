"""Search responses: results with texts, snippets and notes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import orjson

from rankwell.index import DateFacet, RangeFacet, SearchIndex, Snippet, ValueFacet
from rankwell.index.snippets import snippet_of

FIRST, RERANKED = "first", "reranked"
HEADING = "title"
CHARACTERS = 240  # of a snippet
LONGEST = 20_000  # characters of a field that are searched for a snippet


@dataclass
class Piece:
    """A piece of a snippet, and whether it is a matched word. It is plain text: escape it before showing it."""

    text: str
    marked: bool


@dataclass
class Result:
    """One document. `first_rank` is its rank after the first stage, `moved` how many places a model moved it up.

    Both are None where they are unknown, as `moved` is before re-ranking. `snippet` has the pieces of a
    passage by field. orjson writes these objects as they are: no slots, which would make that ten times slower.
    """

    id: str
    rank: int
    score: float
    first_rank: int | None
    moved: int | None
    fields: Mapping[str, str]
    metadata: Mapping[str, Any]
    snippet: Mapping[str, Sequence[Piece]]
    explain: Mapping[str, Any] | None
    pinned: bool = False  # by the owner


@dataclass(frozen=True)
class SearchResponse:
    """The results of a search after its first stage, or after a model has re-ranked them.

    `partial`: a model was asked for and was not done in time, so these are the first stage's results. `total` is the
    number of matching documents (None: not counted).
    """

    query: str
    took_ms: float
    stage: str
    partial: bool
    total: int | None
    commit: int
    warnings: Sequence[str]
    results: Sequence[Result]
    facets: Mapping[str, Mapping[str, Any]]


def to_json(content: Any) -> bytes:
    """The content as JSON; dataclasses and numpy numbers are written, too."""
    return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def facet_json(facet: ValueFacet | RangeFacet | DateFacet) -> dict[str, Any]:
    """A facet as a dictionary for JSON."""
    if isinstance(facet, ValueFacet):
        values = [{"value": value, "count": count} for value, count in facet.counts]
        return {"kind": "values", "values": values, "others": facet.others, "missing": facet.missing}
    if isinstance(facet, DateFacet):
        values = [{"value": start, "count": count} for start, count in facet.bars]
        span = {"earliest": facet.lowest, "latest": facet.highest, "unit": facet.unit}
        return {"kind": "dates", **span, "values": values, "missing": facet.missing}
    return {
        "kind": "range",
        "lowest": facet.lowest,
        "highest": facet.highest,
        "width": facet.width,
        "counts": facet.bars,
        "missing": facet.missing,
    }


def snippets(fields: Mapping[str, str], terms: set[str], index: SearchIndex) -> dict[str, list[Piece]]:
    """The title, and the best passage of each field with one of the terms; else the beginning of the first field."""
    passages: dict[str, list[Piece]] = {}
    beginning: tuple[str, list[Piece]] | None = None
    for name in index.fields:
        text = fields.get(name)
        if not text:
            continue
        snippet = snippet_of([text[:LONGEST]], terms, index.analyzer, CHARACTERS)
        if snippet.highlights or name == HEADING:
            passages[name] = _pieces(snippet)
        elif beginning is None:
            beginning = name, _pieces(snippet)
    if beginning is not None and not passages.keys() - {HEADING}:
        passages[beginning[0]] = beginning[1]
    return passages


def _pieces(snippet: Snippet) -> list[Piece]:
    """The snippet's text, split where highlights begin and end."""
    pieces, at = [], 0
    for start, end in snippet.highlights:
        pieces += [Piece(snippet.text[at:start], marked=False), Piece(snippet.text[start:end], marked=True)]
        at = end
    return [piece for piece in (*pieces, Piece(snippet.text[at:], marked=False)) if piece.text]


_taken: ContextVar[list[str] | None] = ContextVar("warnings of a request", default=None)
LOGGER, OPERATOR = "rankwell", "rankwell.web"
MOST_NOTES = 20


class Notes(logging.Handler):
    """Log handler that adds warnings to the notes of the request that caused them, and passes the others on.

    Warnings quote the user's query; therefore they are not written to the server's log. What the servers log for their
    operator is no note: it may name paths of this machine.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether other handlers get the record: not if a request took it."""
        taken = _taken.get()
        if taken is None or record.levelno < logging.WARNING or record.name.startswith(OPERATOR):
            return True
        message = record.getMessage()
        if len(taken) < MOST_NOTES and message not in taken:
            taken.append(message)
        return False

    def emit(self, record: logging.LogRecord) -> None:
        """Do nothing: `filter` has handled the record."""


def take_notes() -> None:
    """Redirect the library's warnings to the notes of the requests that cause them."""
    ours = logging.getLogger(LOGGER)
    if any(isinstance(handler, Notes) for handler in ours.handlers):
        return
    notes = Notes()
    for handler in logging.getLogger().handlers:
        handler.addFilter(notes.filter)
    ours.addHandler(notes)


@contextmanager
def taken_notes(into: list[str] | None = None) -> Iterator[list[str]]:
    """Collect the warnings of this block and thread in the given list, or in a new one."""
    notes: list[str] = [] if into is None else into
    token = _taken.set(notes)
    try:
        yield notes
    finally:
        _taken.reset(token)
