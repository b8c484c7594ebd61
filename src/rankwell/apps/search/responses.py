"""Search responses: results with texts, snippets and notes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rankwell.index import RangeFacet, SearchIndex, Snippet, ValueFacet
from rankwell.index.snippets import snippet_of
from rankwell.pipelines import Explanation

if TYPE_CHECKING:
    from rankwell.apps.search.searcher import SearchState


FIRST, RERANKED = "first", "reranked"


class SnippetPiece(NamedTuple):
    """A piece of a snippet, and whether it is a matched word. It is plain text: escape it before showing it."""

    text: str
    marked: bool


@dataclass(frozen=True)
class Result:
    """One document. `first_rank` is its rank after the first stage, `moved` how many places a model moved it up.

    Both are None where they are unknown, as `moved` is before re-ranking. `snippet` has the pieces of a
    passage by field.
    """

    id: str
    rank: int
    score: float
    first_rank: int | None = None
    moved: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    snippet: Mapping[str, Sequence[SnippetPiece]] = field(default_factory=dict)
    explain: Explanation | None = None

    def for_json(self) -> dict[str, Any]:
        """The result as a dictionary for JSON."""
        shown: dict[str, Any] = {"id": self.id, "rank": self.rank, "score": self.score, "first_rank": self.first_rank}
        shown |= {"moved": self.moved, "fields": self.fields, "metadata": self.metadata}
        shown["snippet"] = {
            name: [{"text": piece.text, "marked": piece.marked} for piece in pieces]
            for name, pieces in self.snippet.items()
        }
        shown["explain"] = None if self.explain is None else self.explain.for_json()
        return shown


@dataclass(frozen=True)
class SearchResponse:
    """The results of a search after its first stage, or after a model has re-ranked them.

    `partial`: a model was asked for and was not done in time, so these are the first stage's results. `total` is the
    number of matching documents (None: not counted). `found` is the input of the next stage; it is not sent.
    """

    query: str
    took_ms: float
    stage: str
    results: Sequence[Result]
    partial: bool = False
    total: int | None = None
    warnings: Sequence[str] = ()
    facets: Mapping[str, ValueFacet | RangeFacet] = field(default_factory=dict)
    commit: int = 0
    found: SearchState | None = field(default=None, repr=False, compare=False)

    def for_json(self) -> dict[str, Any]:
        """The response as a dictionary for JSON."""
        return {
            "query": self.query,
            "took_ms": round(self.took_ms, 3),
            "stage": self.stage,
            "partial": self.partial,
            "total": self.total,
            "commit": self.commit,
            "warnings": list(self.warnings),
            "results": [result.for_json() for result in self.results],
            "facets": {name: _facet(facet) for name, facet in self.facets.items()},
        }


def _facet(facet: ValueFacet | RangeFacet) -> dict[str, Any]:
    if isinstance(facet, ValueFacet):
        values = [{"value": value, "count": count} for value, count in facet.counts]
        return {"kind": "values", "values": values, "others": facet.others, "missing": facet.missing}
    return {
        "kind": "range",
        "lowest": facet.lowest,
        "highest": facet.highest,
        "width": facet.width,
        "counts": list(facet.bars),
        "missing": facet.missing,
    }


_taken: ContextVar[list[str] | None] = ContextVar("warnings of a request", default=None)
LOGGER = "rankwell"
MOST = 20


class Notes(logging.Handler):
    """Log handler that adds warnings to the notes of the request that caused them, and passes the others on.

    Warnings quote the user's query; therefore they are not written to the server's log.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether other handlers get the record: not if a request took it."""
        taken = _taken.get()
        if taken is None or record.levelno < logging.WARNING:
            return True
        told = record.getMessage()
        if len(taken) < MOST and told not in taken:
            taken.append(told)
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
    found: list[str] = [] if into is None else into
    token = _taken.set(found)
    try:
        yield found
    finally:
        _taken.reset(token)


CHARACTERS = 240
LONGEST = 20_000  # characters of a field that are searched for a snippet
HEADING = "title"

Pieces = tuple[SnippetPiece, ...]


def snippets(fields: Mapping[str, str], terms: set[str], index: SearchIndex) -> dict[str, Pieces]:
    """The title, and the best passage of each field with one of the terms; else the beginning of the first field."""
    found: dict[str, Pieces] = {}
    beginning: tuple[str, Pieces] | None = None
    for name in index.fields:
        text = fields.get(name)
        if not text:
            continue
        snippet = snippet_of([text[:LONGEST]], terms, index.analyzer, CHARACTERS)
        if snippet.highlights or name == HEADING:
            found[name] = pieces(snippet)
        elif beginning is None:
            beginning = name, pieces(snippet)
    if beginning is not None and not found.keys() - {HEADING}:
        found[beginning[0]] = beginning[1]
    return found


def pieces(snippet: Snippet) -> Pieces:
    """The snippet's text, split where highlights begin and end."""
    found, at = [], 0
    for start, end in snippet.highlights:
        if start > at:
            found.append(SnippetPiece(snippet.text[at:start], marked=False))
        found.append(SnippetPiece(snippet.text[start:end], marked=True))
        at = end
    if at < len(snippet.text):
        found.append(SnippetPiece(snippet.text[at:], marked=False))
    return tuple(found)
