"""Passages as people read them: paragraphs as they were written, the query's words marked where a study wants that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

TITLE = "title"
WORD = re.compile(r"\w+(?:['’-]\w+)*")  # noqa: RUF001 -- texts have both kinds of apostrophe
BREAK = re.compile(r"\n[^\S\n]*\n\s*")
SHORTEST = 2  # characters of a word worth marking
# Words that say nothing about what a query is after.
PLAIN_TEXT = """
a about an and are as at be by can could did do does for from had has have how i if in into is it its of on or should so
than that the their them then there these they this to was were what when where which who whom whose why will with would
you your
"""
PLAIN = frozenset(PLAIN_TEXT.split())


class Piece(NamedTuple):
    """A stretch of text, marked or not."""

    text: str
    marked: bool


Paragraph = tuple[Piece, ...]


class Section(NamedTuple):
    """One text of a passage with its name, which is shown where there are several."""

    name: str
    paragraphs: tuple[Paragraph, ...]


class Reading(NamedTuple):
    """A passage laid out: its title (empty where it has none) and its other texts."""

    title: Paragraph
    sections: tuple[Section, ...]


def lay_out(passage: Mapping[str, str], query: str, *, mark: bool) -> Reading:
    """The passage in paragraphs. Nothing in it is markup: templates escape every piece."""
    words = query_words(query) if mark else frozenset()
    texts = {name: text for name, text in passage.items() if text.strip()}
    title = texts.pop(TITLE, "") if len(texts) > 1 else ""
    sections = tuple(
        Section(name, tuple(tuple(_pieces(part, words)) for part in BREAK.split(text.strip())))
        for name, text in texts.items()
    )
    return Reading(tuple(_pieces(title, words)), sections)


def query_words(query: str) -> frozenset[str]:
    """The words of a query that are worth marking, in one case."""
    found = (word.casefold() for word in WORD.findall(query))
    return frozenset(word for word in found if len(word) >= SHORTEST and word not in PLAIN)


def _pieces(text: str, words: frozenset[str]) -> Iterator[Piece]:
    end = 0
    for match in WORD.finditer(text) if words else ():
        if match[0].casefold() in words:
            if match.start() > end:
                yield Piece(text[end : match.start()], marked=False)
            yield Piece(match[0], marked=True)
            end = match.end()
    if end < len(text):
        yield Piece(text[end:], marked=False)
