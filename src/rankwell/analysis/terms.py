"""From a word to its term, worked out once for each distinct word."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from threading import Lock

import Stemmer

LONGEST_TERM = 255
# No word needs more characters than this to give a term of full length; ordering a longer heap of marks takes forever.
LONGEST_WORD = 4 * LONGEST_TERM
# Longer words are rarely seen again, and text without spaces must not fill the memory.
LONGEST_REMEMBERED = 64
MOST_REMEMBERED = 1_000_000

ENGLISH_TIOUS = "english+tious"


class Terms(dict[str, str | None]):
    """The terms of the words seen so far: None for a stop word, "" for what is no word (marks without a letter).

    A dictionary that fills itself, because looking a known word up then never leaves C.
    """

    def __init__(self, stem: Callable[[str], str], stopwords: frozenset[str], *, possessives: bool) -> None:
        super().__init__()
        self.stem = stem
        self.stopwords = stopwords
        self.possessives = possessives

    def __missing__(self, word: str) -> str | None:
        term = self.term(token(word))
        if len(word) <= LONGEST_REMEMBERED:
            if len(self) >= MOST_REMEMBERED:
                self.clear()
            self[word] = term
        return term

    def term(self, token: str) -> str | None:
        """What is indexed for a token. Both "it's" and the "it" that is left of it can be a stop word."""
        if token in self.stopwords:
            return None
        if self.possessives and token.endswith("'s"):
            token = token[:-2]
            if token in self.stopwords:
                return None
        return self.stem(token) or token


def token(word: str) -> str:
    """A word as it is compared: in NFC, beginning with a letter or digit, not longer than 255 characters."""
    if word.isascii():
        return word[:LONGEST_TERM]
    word = unicodedata.normalize("NFC", word[:LONGEST_WORD])
    return word[leading_marks(word) :][:LONGEST_TERM]


def leading_marks(word: str) -> int:
    """How many characters stand before the first letter or digit of a word."""
    for count, char in enumerate(word):
        if unicodedata.category(char)[0] in "LN":
            return count
    return len(word)


def stemmer(name: str) -> Callable[[str], str]:
    """The stemmer of that name: a Snowball algorithm, our English one, or "none"."""
    if name == "none":
        return str
    return joining_tious(snowball("english")) if name == ENGLISH_TIOUS else snowball(name)


def joining_tious(stem: Callable[[str], str]) -> Callable[[str], str]:
    """Snowball's English with -tious treated as the -tion that it comes from.

    Snowball makes "infect" of "infection" but "infecti" of "infectious", and likewise for nutrition and ambition.
    """

    def stem_more(word: str) -> str:
        stemmed = stem(word)
        return stemmed[:-1] if stemmed.endswith("ti") and "tious" in word else stemmed

    return stem_more


def snowball(algorithm: str) -> Callable[[str], str]:
    """A Snowball stemmer that several threads may share."""
    stemmer = Stemmer.Stemmer(algorithm, 0)  # without a cache of its own: `Terms` remembers
    lock = Lock()

    def stem(word: str) -> str:
        with lock:
            stemmed: str = stemmer.stemWord(word)
        return stemmed

    return stem
