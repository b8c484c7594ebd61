"""From words to terms: remove stop words, stem the others, each distinct word once."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from threading import Lock
from types import MappingProxyType

import Stemmer

LONGEST_TERM = 255
# No word needs more characters than this for a term of full length; sorting a longer sequence of marks is too slow.
LONGEST_WORD = 4 * LONGEST_TERM
# Longer words rarely occur again, and text without spaces must not fill the memory.
LONGEST_REMEMBERED = 64
MOST_REMEMBERED = 1_000_000

ENGLISH_TIOUS = "english+tious"


class Terms(dict[str, str | None]):
    """The terms of the words so far: None for a stop word, "" for no word (marks without a letter).

    A dictionary that fills itself, so that lookups of known words stay in C.
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
        """The index term of a token. Both "it's" and its remaining "it" can be stop words."""
        if token in self.stopwords:
            return None
        if self.possessives and token.endswith("'s"):
            token = token[:-2]
            if token in self.stopwords:
                return None
        return self.stem(token) or token


def token(word: str) -> str:
    """A normalised word: in NFC, beginning with a letter or digit, at most 255 characters."""
    if word.isascii():
        return word[:LONGEST_TERM]
    word = unicodedata.normalize("NFC", word[:LONGEST_WORD])
    return word[leading_marks(word) :][:LONGEST_TERM]


def leading_marks(word: str) -> int:
    """The number of characters before the first letter or digit of a word."""
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
    stemmer = Stemmer.Stemmer(algorithm, 0)  # without a cache of its own: `Terms` is one
    lock = Lock()

    def stem(word: str) -> str:
        with lock:
            stemmed: str = stemmer.stemWord(word)
        return stemmed

    return stem


# Lucene's 33 English stop words since its beginnings.
LUCENE = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
was will with
"""

# NLTK's English list of 179 words, as in the systematic-review study; later releases of NLTK's data have more.
NLTK = """
i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him his himself
she she's her hers herself it it's its itself they them their theirs themselves
what which who whom this that that'll these those
am is are was were be been being have has had having do does did doing
a an the and but if or because as until while of at by for with about against between into through during before after
above below to from up down in out on off over under again further then once here there when where why how
all any both each few more most other some such no nor not only own same so than too very
s t can will just don don't should should've now d ll m o re ve y
ain aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't haven haven't isn isn't ma
mightn mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't weren weren't won won't
wouldn wouldn't
"""

# The COVID-19 study, appendix A.3. The study also lists punctuation, which never becomes a token here.
COVID_STUDY = """
a about after all also always am an and any are at be been being but by came can cant come could did didn't do does
doesn't doing don't else for from get give goes going had happen has have having how i if ill i'm in into is isn't it
its i've just keep let like made make many may me mean more most much no not now of only or our really say see some
something take tell than that the their them then they thing this to try up us use used uses very want was way we what
when where which who why will with without wont you your youre
"""

STOPWORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "lucene": frozenset(LUCENE.split()),
        "nltk": frozenset(NLTK.split()),
        "none": frozenset(),
        "s0": frozenset(COVID_STUDY.split()),
    }
)
