"""Queries made from documents alone: titles, single sentences and key phrases, each with the document it came from."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rankwell.core import Document
from rankwell.index import Index

TITLE, SENTENCE, PHRASE = KINDS = ("title", "sentence", "phrase")
FIELD = "title"
SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])|\n+")
SHORTEST, LONGEST = 5, 40  # words of a sentence that is a query
FEWEST = 8  # words of the rest of the document
PHRASE_WORDS = (2, 5)  # words of a key phrase
AROUND = 12  # neighbouring words among which a phrase's words are looked for
WORD = re.compile(r"[^\W_](?:[\w'-]*[^\W_])?")


class PseudoQuery(NamedTuple):
    """A query, its kind, the document it was made from, and that document's text without the query."""

    id: str
    kind: str
    text: str
    docno: str
    rest: str


class PseudoQueries:
    """Makes queries from the documents of an index; what is made for a document depends on the seed and its id."""

    def __init__(self, index: Index, kinds: Sequence[str] = KINDS, seed: int = 0) -> None:
        self.index, self.seed = index, seed
        self._makers = {kind: MAKERS[kind] for kind in kinds}

    def make(self, count: int) -> list[PseudoQuery]:
        """Up to `count` queries of documents drawn at random, the kinds in turn."""
        docnos = sorted(self.index.documents)
        random.Random(self.seed).shuffle(docnos)  # noqa: S311 -- reproducible, no secret
        made: list[PseudoQuery] = []
        for turn in range(len(self._makers)):  # a second query of a document only where there are too few
            for place, docno in enumerate(docnos):
                if len(made) >= count:
                    return made
                query = self._of(docno, place + turn)
                if query is not None:
                    made.append(query)
        return made

    def _of(self, docno: str, turn: int) -> PseudoQuery | None:
        """A query of the kind whose turn it is, or of the next that this document allows."""
        document, kinds = self.index.documents[docno], list(self._makers)
        for step in range(len(kinds)):
            kind = kinds[(turn + step) % len(kinds)]
            chooser = random.Random(f"{self.seed}/{kind}/{docno}")  # noqa: S311 -- reproducible, no secret
            parts = self._makers[kind](document, self.index, chooser)
            if parts is not None and len(parts[1].split()) >= FEWEST:
                return PseudoQuery(f"{kind}-{docno}", kind, *(" ".join(parts[0].split()), docno, parts[1]))
        return None


def _title(document: Document, index: Index, chooser: random.Random) -> tuple[str, str] | None:  # noqa: ARG001 -- as all
    """The title, and the other fields."""
    title = document.fields.get(FIELD, "").strip()
    rest = [name for name in document.fields if name != FIELD]
    return (title, document.text(*rest)) if len(title.split()) > 1 and rest else None


def _sentence(document: Document, index: Index, chooser: random.Random) -> tuple[str, str] | None:  # noqa: ARG001 -- as all
    """A sentence of the text, and everything but that sentence."""
    body = document.text(*[name for name in document.fields if name != FIELD]) or document.text()
    sentences = [part.strip() for part in SENTENCES.split(body) if part.strip()]
    able = [part for part in sentences if SHORTEST <= len(part.split()) <= LONGEST]
    if not able or len(sentences) < 2:  # noqa: PLR2004 -- something must be left
        return None
    chosen = chooser.choice(able)
    title = document.fields.get(FIELD, "")
    return chosen, " ".join([*([title] if title else []), *(part for part in sentences if part != chosen)])


def _phrase(document: Document, index: Index, chooser: random.Random) -> tuple[str, str] | None:
    """A few rare words that stand near each other, in their order, and the whole document."""
    words = WORD.findall(document.text())
    if len(words) < FEWEST:
        return None
    start = chooser.randrange(max(1, len(words) - AROUND))
    near = words[start : start + AROUND]
    weights = {word: _rarity(word, index) for word in dict.fromkeys(near)}
    count = chooser.randint(*PHRASE_WORDS)
    best = sorted((word for word in weights if weights[word] > 0), key=lambda word: -weights[word])[:count]
    return (" ".join(word for word in dict.fromkeys(near) if word in best), document.text()) if len(best) > 1 else None


def _rarity(word: str, index: Index) -> float:
    """The idf of a word; 0 for stop words and for words of this document alone, which nobody would search for."""
    terms = index.analyzer(word)
    counts = [index.statistics(term).documents for term in terms]
    return float(np.log(len(index) / max(counts))) if counts and min(counts) > 1 else 0.0


MAKERS: dict[str, Callable[[Document, Index, random.Random], tuple[str, str] | None]] = {
    TITLE: _title,
    SENTENCE: _sentence,
    PHRASE: _phrase,
}


def count_kinds(queries: Iterable[PseudoQuery]) -> dict[str, int]:
    """How many queries of each kind there are."""
    return dict(Counter(query.kind for query in queries))


def held_out(queries: Sequence[PseudoQuery], share: float, most: int) -> tuple[list[PseudoQuery], list[PseudoQuery]]:
    """The last queries, at most `most`, apart from the others."""
    size = min(most, max(1, round(share * len(queries))))
    return list(queries[:-size]), list(queries[-size:])


def texts(queries: Iterable[PseudoQuery]) -> Iterator[tuple[str, str]]:
    """The ids and texts."""
    return ((query.id, query.text) for query in queries)
