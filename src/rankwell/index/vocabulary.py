"""Numbers for the terms that a writer meets: a word is looked up once, not for its term and again for its number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwell.analysis import Analyzer
from rankwell.index.layout import Array

NO_TERM = -1
# What is remembered of words; terms stay, because postings speak of them by number.
MOST_WORDS = 2_000_000


class TermNumbers(dict[str, int]):
    """The number of each term, counted from 0 in the order in which they come."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class WordNumbers(dict[str, int]):
    """The number of each word's term, or NO_TERM for a stop word; it fills itself, so that a known word stays in C."""

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
    """Splits texts into words now, and gives them their terms' numbers later, many at a time."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.terms = TermNumbers()
        self._waiting: list[str] = []
        if analyzer.language == "cjk":  # has no words of its own to remember
            self._words: Callable[[str], list[str]] = analyzer
            self._number: Callable[[str], int] = self.terms.__getitem__
        else:
            # The analyzer's own steps, because going through its terms would look every word up twice.
            prepare = analyzer._prepare  # noqa: SLF001 -- half of the time of a build
            self._words = lambda text: prepare(text).split()
            self._number = WordNumbers(analyzer._terms.__getitem__, self.terms).__getitem__  # noqa: SLF001 -- likewise

    @property
    def waiting(self) -> int:
        """How many words have no number yet."""
        return len(self._waiting)

    def read(self, text: str) -> int:
        """Take a text in; how many words it has, those without a term included."""
        words = self._words(text)
        self._waiting += words
        return len(words)

    def numbers(self) -> Array:
        """The numbers of all words taken in since the last time, in order; NO_TERM for those without a term."""
        found = np.fromiter(map(self._number, self._waiting), dtype=np.int32, count=len(self._waiting))
        self._waiting.clear()
        return found

    def occurrences(self, text: str) -> tuple[Array, Array]:
        """The same at once, without words that have no term, and with positions."""
        found = self.analyzer.positions(text)
        numbers = np.fromiter((self.terms[term] for term, *_ in found), dtype=np.int32, count=len(found))
        return numbers, np.fromiter((place for _, place, *_ in found), dtype=np.uint32, count=len(found))
