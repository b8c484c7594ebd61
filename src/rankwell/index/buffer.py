"""The writer's memory: documents that are in no segment yet, and numbers of their terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwell.analysis import Analyzer
from rankwell.core import Document
from rankwell.index.blocks import MISSING, Array
from rankwell.index.postings import Triples

NO_TERM = -1
# Size of the word cache; terms stay, because postings refer to them by number.
MOST_WORDS = 2_000_000


class TermNumbers(dict[str, int]):
    """The number of each term, from 0 in order of appearance."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class WordNumbers(dict[str, int]):
    """The number of each word's term, or NO_TERM for a stop word; a dictionary that fills itself, for lookups in C."""

    def __init__(self, term_of: Callable[[str], str | None], terms: TermNumbers) -> None:
        super().__init__()
        self.term_of, self.terms = term_of, terms

    def __missing__(self, word: str) -> int:
        term = self.term_of(word)
        number = self.terms[term] if term else NO_TERM
        if len(self) >= MOST_WORDS:
            self.clear()
        self[word] = number
        return number


class Vocabulary:
    """Splits texts into words at once, and converts words to term numbers later, in batches."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.terms = TermNumbers()
        self._waiting: list[str] = []
        if analyzer.language == "cjk":  # has no word cache of its own
            self._words: Callable[[str], list[str]] = analyzer
            self._number: Callable[[str], int] = self.terms.__getitem__
        else:
            # The analyzer's own steps, because its terms would need two lookups per word.
            prepare = analyzer._prepare  # noqa: SLF001 -- half of the time of a build
            self._words = lambda text: prepare(text).split()
            self._number = WordNumbers(analyzer._terms.__getitem__, self.terms).__getitem__  # noqa: SLF001 -- likewise

    @property
    def waiting(self) -> int:
        """Number of words without a number yet."""
        return len(self._waiting)

    def read(self, text: str) -> int:
        """Read a text; return its number of words, including those without a term."""
        words = self._words(text)
        self._waiting += words
        return len(words)

    def numbers(self) -> Array:
        """The term numbers of all words since the last call, in order; NO_TERM for words without a term."""
        numbers = np.fromiter(map(self._number, self._waiting), dtype=np.int32, count=len(self._waiting))
        self._waiting.clear()
        return numbers

    def occurrences(self, text: str) -> tuple[Array, Array]:
        """The term numbers of a text at once, without words that have no term, and their positions."""
        occurrences = self.analyzer.positions(text)
        numbers = np.fromiter((self.terms[term] for term, *_ in occurrences), dtype=np.int32, count=len(occurrences))
        return numbers, np.fromiter((place for _, place, *_ in occurrences), dtype=np.uint32, count=len(occurrences))


# Words that wait for their numbers: enough to make counting cheap, few enough to stay in the cache.
BATCH = 1 << 19
SHIFT = np.uint64(32)
TERM = np.uint64(0xFFFFFFFF)


class Buffer:
    """Counts terms document by document. A `run` is one field of one document: consecutive words."""

    def __init__(
        self, vocabulary: Vocabulary, fields: tuple[str, ...] | None, metadata: tuple[str, ...], *, positions: bool
    ) -> None:
        self._vocabulary, self._wanted, self._positions = vocabulary, fields, positions
        self.fields: dict[str, int] = {name: number for number, name in enumerate(fields or ())}
        self.docnos: list[str] = []
        self.places: dict[str, int] = {}  # the current document of each id; an earlier one is dead
        self.columns: dict[str, list[Any]] = {name: [] for name in metadata}
        self._run_documents: list[int] = []
        self._run_fields: list[int] = []
        self._words: list[int] = []  # of the runs that wait
        self._lengths: list[Array] = []
        self._keys: list[Array] = []
        self._counts: list[Array] = []
        self._places: list[Array] = []
        self._numbers: list[Array] = []
        self._waiting = 0  # tokens with positions
        self.postings = 0

    def add(self, document: Document) -> None:
        """Add a document; an earlier one with the same id is dead."""
        number = len(self.docnos)
        self.docnos.append(document.id)
        self.places[document.id] = number
        for name, text in document.fields.items():
            field = self.fields.get(name)
            if field is None:
                if self._wanted is not None or not text:
                    continue
                field = self.fields[name] = len(self.fields)
            if text:
                self._run_documents.append(number)
                self._run_fields.append(field)
                self._words.append(self._read(text))
        for name, values in self.columns.items():
            value = document.metadata.get(name)
            values.append(None if value == "" else value)
        if self._vocabulary.waiting + self._waiting >= BATCH:
            self.fold()

    def fold(self) -> None:
        """Count the waiting words."""
        if not self._words:
            return
        numbers = np.concatenate(self._numbers) if self._positions else self._vocabulary.numbers()
        first = sum(map(len, self._lengths))
        runs = np.repeat(np.arange(len(self._words), dtype=np.uint64), self._words)
        kept = numbers >= 0
        runs, numbers = runs[kept], numbers[kept]
        self._lengths.append(np.bincount(runs.astype(np.int64), minlength=len(self._words)))
        keys = ((runs + np.uint64(first)) << SHIFT) | numbers.astype(np.uint64)
        self._words, self._numbers, self._waiting = [], [], 0
        if self._positions:  # one key per token, as tokens have positions
            self._keys.append(keys)
        else:
            keys.sort()
            starts = np.flatnonzero(np.concatenate(([len(keys) > 0], keys[1:] != keys[:-1])))
            self._keys.append(keys[starts])
            self._counts.append(np.diff(starts, append=len(keys)).astype(np.uint32))
        self.postings += len(self._keys[-1])

    def lengths(self, order: Array) -> Array:
        """For each field, the length of each document (MISSING without the field), in that order."""
        self.fold()
        table = np.full((len(self.fields), len(self.docnos)), MISSING, dtype=np.uint32)
        if self._lengths:
            table[self._run_fields, self._run_documents] = np.concatenate(self._lengths)
        return table[:, order]

    def terms(self) -> Array:
        """The numbers of the occurring terms (in dead documents too), ascending."""
        seen = np.zeros(len(self._vocabulary.terms), dtype=bool)
        for keys in self._keys:
            seen[(keys & TERM).astype(np.int64)] = True
        return np.flatnonzero(seen)

    def triples(self, field: int, term_ranks: Array, document_ranks: Array) -> tuple[Triples, Array | None]:
        """The postings of a field in new numbers, without dead documents (rank -1); and one position per token."""
        runs = np.array(self._run_fields) == field
        ranks = np.where(runs, document_ranks[np.array(self._run_documents, dtype=np.int64)], -1)
        columns: list[list[Array]] = [[], [], [], []]
        for part, keys in enumerate(self._keys):
            documents = ranks[(keys >> SHIFT).astype(np.int64)]
            kept = documents >= 0
            columns[0].append(term_ranks[(keys[kept] & TERM).astype(np.int64)])
            columns[1].append(documents[kept].astype(np.uint32))
            if self._positions:
                columns[3].append(self._places_of(part)[kept])
            else:
                columns[2].append(self._counts[part][kept])
        terms, documents, counts, places = (np.concatenate([np.zeros(0, dtype=np.uint32), *parts]) for parts in columns)
        if not self._positions:
            return Triples(terms, documents, counts), None
        return _with_positions(terms, documents, places)

    def _read(self, text: str) -> int:
        if not self._positions:
            return self._vocabulary.read(text)
        numbers, places = self._vocabulary.occurrences(text)
        self._numbers.append(numbers)
        self._places.append(places)
        self._waiting += len(numbers)
        return len(numbers)

    def _places_of(self, part: int) -> Array:
        if part == 0:
            self._places = [np.concatenate(self._places)]
        start = sum(map(len, self._keys[:part]))
        return self._places[0][start : start + len(self._keys[part])]


def _with_positions(terms: Array, documents: Array, places: Array) -> tuple[Triples, Array]:
    """One triple for all tokens of a term in a document, and the positions in the order of the triples."""
    keys = (terms.astype(np.uint64) << SHIFT) | documents.astype(np.uint64)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate(([len(keys) > 0], keys[1:] != keys[:-1])))
    counts = np.diff(starts, append=len(keys)).astype(np.uint32)
    firsts = order[starts]
    return Triples(terms[firsts], documents[firsts], counts), places[order]
