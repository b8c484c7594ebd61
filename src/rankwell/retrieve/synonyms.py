"""Synonyms from a file: other words for words and phrases of a query, found as well and counted less.

    fever, pyrexia, high temperature        each stands for the others
    heart attack => myocardial infarction   only in this direction
    # a comment

This is the format of Solr and Elasticsearch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rankwell.collections import Reading
from rankwell.collections.reading import text_lines
from rankwell.core import FormatError

WEIGHT = 0.5  # of a synonym beside the word that was typed, so that the word itself wins
WORD = re.compile(r"\w+")
ARROW = "=>"
LINE = f"words with commas between them (fever, pyrexia), or words {ARROW} words"

Words = tuple[str, ...]


class Expansion(NamedTuple):
    """A query with its synonyms: how to match, the added words with their weights, and all words together."""

    match: str
    variants: tuple[tuple[str, float], ...]
    words: str


@dataclass(frozen=True)
class Synonyms:
    """Other phrases for phrases, both as lower-case words.

    >>> Synonyms({("fever",): (("pyrexia",),)}).expand("Fever in children", "or").words
    'Fever in children pyrexia'
    """

    others: Mapping[Words, tuple[Words, ...]]

    def expand(self, query: str, match: str) -> Expansion:
        """The query with synonyms, for matching by any (`or`) or all (`and`) words; unchanged for other ways."""
        parts = self._parts(words_of(query)) if match in ("or", "and") else []
        added = list(dict.fromkeys(" ".join(other) for _, others in parts for other in others))
        if not added:
            return Expansion(match, (), query)
        if match == "and":
            match = "expr:" + " AND ".join(_group(part, others) for part, others in parts)
        return Expansion(match, tuple((text, WEIGHT) for text in added), " ".join([query, *added]))

    def _parts(self, words: Words) -> list[tuple[Words, tuple[Words, ...]]]:
        """The query from left to right in its longest known phrases, and single words between them."""
        longest = max(map(len, self.others), default=0)
        parts, at = [], 0
        while at < len(words):
            sizes = range(min(longest, len(words) - at), 0, -1)
            size = next((size for size in sizes if words[at : at + size] in self.others), 1)
            part = words[at : at + size]
            parts.append((part, self.others.get(part, ())))
            at += size
        return parts


def _group(part: Words, others: tuple[Words, ...]) -> str:
    """A part of an expression: the words, or one of the others."""
    ways = [f"({' AND '.join(words)})" if len(words) > 1 else words[0] for words in (part, *others)]
    return f"({' OR '.join(ways)})" if len(ways) > 1 else ways[0]


def words_of(text: str) -> Words:
    """The words of a text in lower case."""
    return tuple(WORD.findall(text.casefold()))


def read_synonyms(path: Path | str) -> Synonyms:
    """Read a file of synonyms."""
    path = Path(path)
    others: dict[Words, dict[Words, None]] = {}
    for number, line in text_lines(path, Reading()):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        left, arrow, right = text.partition(ARROW)
        sides = [
            [words_of(phrase) for phrase in side.split(",")] for side in ((left, right) if arrow else (left, left))
        ]
        if not all(words for side in sides for words in side) or (not arrow and len(sides[0]) == 1):
            raise FormatError(path, number, expected=LINE, found=text)
        for phrase in sides[0]:
            of_phrase = others.setdefault(phrase, {})
            of_phrase.update((other, None) for other in sides[1] if other != phrase)
    return Synonyms({phrase: tuple(known) for phrase, known in others.items() if known})
