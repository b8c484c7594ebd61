"""Snippets: the passage of a document with the most query terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rankwell.analysis import Analyzer
from rankwell.core import Document

LONGEST_TEXT = 100_000  # most characters to search
SEARCH_BACK = 30  # characters by which a passage may begin earlier, at the start of a word


class Snippet(NamedTuple):
    """A passage, and the positions of the terms in it (start, end): callers mark them, and escape the rest."""

    text: str
    highlights: list[tuple[int, int]]

    def marked(self, before: str = "[", after: str = "]", shown: Callable[[str], str] = str) -> str:
        """The passage with marks around the terms; `shown` escapes the text for its destination."""
        pieces = enumerate(map(shown, self.pieces()))
        return "".join(f"{before}{piece}{after}" if place % 2 else piece for place, piece in pieces)

    def pieces(self) -> list[str]:
        """The passage in pieces; every second one is a term."""
        parts, at = [], 0
        for start, end in self.highlights:
            parts += [self.text[at:start], self.text[start:end]]
            at = end
        return [*parts, self.text[at:]]


def snippet_of(texts: Sequence[str], terms: set[str], analyzer: Analyzer, characters: int) -> Snippet:
    """The passage of about that many characters with the most distinct terms, then the most occurrences."""
    best, passage = (-1, 0), Snippet("", [])
    for text in texts:
        head = text[:LONGEST_TEXT]
        spans = [(term, start, end) for term, _, start, end in analyzer.positions(head) if term in terms]
        value, start = _best_start(spans, characters)
        if value > best:
            best, passage = value, _cut(head, start, characters, spans)
    return passage


def document_pieces(analyzer: Analyzer, characters: int, query: str, document: Document) -> list[str]:
    """The snippet of a document's text without its title, in pieces: every second one is a term of the query."""
    names = [name for name in document.fields if name != "title"]
    text = " ".join(document.text(*names)[:LONGEST_TEXT].split()) if names else ""
    return snippet_of([text], set(analyzer(query)), analyzer, characters).pieces()


def _best_start(spans: Sequence[tuple[str, int, int]], characters: int) -> tuple[tuple[int, int], int]:
    """The quality of the best passage (distinct terms, occurrences), and its start."""
    best, start, last = (0, 0), 0, 0
    counts: dict[str, int] = {}
    for first, (term, begin, _) in enumerate(spans):
        while last < len(spans) and spans[last][2] <= begin + characters:
            counts[spans[last][0]] = counts.get(spans[last][0], 0) + 1
            last += 1
        value = (len(counts), last - first)
        if value > best:
            best, start = value, begin
        if term in counts:
            counts[term] -= 1
            if not counts[term]:
                del counts[term]
    return best, start


def _cut(text: str, start: int, characters: int, spans: Sequence[tuple[str, int, int]]) -> Snippet:
    """The passage from a little before `start`, beginning and ending between words, with its highlights."""
    start = max(0, min(start - characters // 4, len(text) - characters))
    if start > 0:
        space = text.find(" ", start, start + SEARCH_BACK)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + characters)
    if end < len(text):
        space = text.rfind(" ", max(start, end - SEARCH_BACK), end)
        end = space if space > start else end
    inside = [(a - start, b - start) for _, a, b in spans if a >= start and b <= end]
    return Snippet(text[start:end], _apart(inside))


def _apart(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join overlapping highlights (CJK bigrams overlap)."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
