"""Snippets of a result, field by field, as pieces of text that are marked or not."""

from __future__ import annotations

from collections.abc import Mapping

from rankwell.index import Index, Snippet
from rankwell.index.snippets import snippet_of
from rankwell.serve.responses import Piece

CHARACTERS = 240
LONGEST = 20_000  # characters of a field that are looked at
HEADING = "title"

Pieces = tuple[Piece, ...]


def snippets(fields: Mapping[str, str], terms: set[str], index: Index) -> dict[str, Pieces]:
    """The title, and the passage of each field that holds one of the terms; else the beginning of the first field."""
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
    """The text cut where highlights begin and end."""
    found, at = [], 0
    for start, end in snippet.highlights:
        if start > at:
            found.append(Piece(snippet.text[at:start], marked=False))
        found.append(Piece(snippet.text[start:end], marked=True))
        at = end
    if at < len(snippet.text):
        found.append(Piece(snippet.text[at:], marked=False))
    return tuple(found)
