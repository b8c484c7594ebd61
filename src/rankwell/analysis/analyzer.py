"""The analyzer: from text to index terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import Stemmer

from rankwell.analysis.characters import Preparation, bigram_spans, bigrams, pieces
from rankwell.analysis.terms import ENGLISH_TIOUS, STOPWORDS, Terms, leading_marks, stemmer, token
from rankwell.core import ParameterError, Phrase

# Raise this whenever the same text would give different terms, so that an index can detect it.
VERSION = 2

SNOWBALL = frozenset(Stemmer.algorithms())
STEMMERS = tuple(sorted(SNOWBALL | {ENGLISH_TIOUS, "none"}))
LANGUAGES = tuple(sorted(SNOWBALL - {"porter", "dutch_porter"} | {"cjk", "none"}))

# Lucene's English analysis, and with it Anserini's and Elasticsearch's, stems as Porter did first. Snowball's newer
# algorithm is not measurably better (docs/analysis.md), so figures that compare with published ones come first.
OWN_STEMMER = {"english": "porter"}

FIRST_MARK = "\u0300"  # no combining mark has a lower code

# A term, its position among the tokens, and start and end of the word in the text. A plain tuple, because an index
# creates one for every token.
Occurrence = tuple[str, int, int, int]


@dataclass(frozen=True)
class Analyzer:
    """Turns text into terms; queries and documents go through the same one.

    `language` is a Snowball language, "cjk" or "none". `stopwords` names a list ("lucene", "nltk", "s0", "none") or is
    a tuple of words; "default" is Lucene's list for English and none for the others. `stemmer` is True for the
    language's own (Porter's for English), False for none, or a name: any Snowball algorithm ("english", "porter", ...)
    or "english+tious", which also joins "infectious" with "infection". "default" and True are resolved
    when the analyzer is created, so that its `repr` and its `config()` are explicit.

    >>> Analyzer("english")("Masks stopped droplets")
    ['mask', 'stop', 'droplet']
    """

    language: str = "english"
    stopwords: str | tuple[str, ...] = "default"
    stemmer: str | bool = True

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            raise ParameterError("language", expected="one of " + ", ".join(LANGUAGES), found=self.language)
        object.__setattr__(self, "stemmer", settled_stemmer(self.stemmer, self.language))
        object.__setattr__(self, "stopwords", settled_stopwords(self.stopwords, self.language))
        if isinstance(self.stopwords, tuple):
            for word in self.stopwords:
                if self._token(word) is None:
                    raise ParameterError("stopwords", expected="words of one token each", found=word)

    def __call__(self, text: str) -> list[str]:
        """The terms of a text in order, with repeats, without stop words."""
        if self.language == "cjk":
            return list(self._cjk_terms(text))
        return list(filter(None, map(self._terms.__getitem__, self._prepare(text).split())))

    def positions(self, text: str) -> list[Occurrence]:
        """The same terms with their positions: (term, position, start, end).

        Positions count stop words, so that a phrase keeps its gaps; start and end are those of the word in the
        original text.
        """
        prepared = self._prepare(text)
        occurrences = self._cjk_occurrences(prepared) if self.language == "cjk" else self._occurrences(prepared)
        origins = self._prepare.origins(text, prepared)
        if origins is None:
            return occurrences
        return [(term, position, origins[start], origins[end - 1] + 1) for term, position, start, end in occurrences]

    def config(self) -> dict[str, Any]:
        """The settings that an index stores to be opened with the same analysis: plain JSON values."""
        stopwords = list(self.stopwords) if isinstance(self.stopwords, tuple) else self.stopwords
        return {"version": VERSION, "language": self.language, "stopwords": stopwords, "stemmer": self.stemmer}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The analyzer that a `config()` describes."""
        parameters = dict(config)
        version = parameters.pop("version", VERSION)
        if version != VERSION:
            known = isinstance(version, int) and version < VERSION
            way_out = "build the index anew" if known else "please update Rankwell"
            raise ParameterError("analyzer version", expected=str(VERSION), found=Phrase(f"{version}: {way_out}"))
        unknown = parameters.keys() - cls.__dataclass_fields__.keys()
        if unknown:
            expected = "only " + ", ".join(cls.__dataclass_fields__)
            raise ParameterError("analyzer config", expected=expected, found=", ".join(sorted(unknown)))
        if isinstance(parameters.get("stopwords"), list):
            parameters["stopwords"] = tuple(parameters["stopwords"])
        return cls(**parameters)

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        # Pickling the cache to another process would cost more than it saves.
        return type(self), (self.language, self.stopwords, self.stemmer)

    @cached_property
    def _prepare(self) -> Preparation:
        return Preparation(self.language)

    @cached_property
    def _terms(self) -> Terms:
        words = STOPWORDS[self.stopwords] if isinstance(self.stopwords, str) else self.stopwords
        # A listed "don't" is two tokens where apostrophes separate, and then never matches.
        stopwords = frozenset(token for token in map(self._token, words) if token is not None)
        return Terms(stemmer(str(self.stemmer)), stopwords, possessives=self.language == "english")

    def _token(self, word: str) -> str | None:
        """The normalised word; None where it is not exactly one token."""
        words = self._prepare(word).split()
        return (token(words[0]) or None) if len(words) == 1 else None

    def _occurrences(self, prepared: str) -> list[Occurrence]:
        term_of = self._terms.__getitem__
        occurrences: list[Occurrence] = []
        position = at = 0
        for word in prepared.split(" "):
            if word:
                term = term_of(word)
                end = at + len(word)
                if term:
                    start = at if word < FIRST_MARK else at + leading_marks(word)
                    occurrences.append((term, position, start, end))
                position += term != ""
                at = end
            at += 1
        return occurrences

    def _cjk_terms(self, text: str) -> Iterator[str]:
        terms = self._terms
        for piece, _, is_cjk in pieces(self._prepare(text)):
            if is_cjk:
                pairs = bigrams(piece)
                yield from (pair for pair in pairs if pair not in terms.stopwords) if terms.stopwords else pairs
            elif term := terms[piece]:
                yield term

    def _cjk_occurrences(self, prepared: str) -> list[Occurrence]:
        terms = self._terms
        occurrences: list[Occurrence] = []
        position = 0
        for piece, at, is_cjk in pieces(prepared):
            if is_cjk:
                pairs = bigram_spans(piece)
                occurrences += [
                    (pair, place, at + start, at + end)
                    for place, (pair, start, end) in enumerate(pairs, position)
                    if pair not in terms.stopwords
                ]
                position += len(pairs)
                continue
            term = terms[piece]
            if term:
                occurrences.append((term, position, at + leading_marks(piece), at + len(piece)))
            position += term != ""
        return occurrences


def settled_stopwords(stopwords: Any, language: str) -> str | tuple[str, ...]:
    """The name of a list or the words themselves, checked."""
    if stopwords == "default":
        return "lucene" if language == "english" else "none"
    if isinstance(stopwords, str) and stopwords in STOPWORDS:
        return stopwords
    if isinstance(stopwords, tuple) and all(isinstance(word, str) for word in stopwords):
        return stopwords
    raise ParameterError("stopwords", expected=f"one of {', '.join(STOPWORDS)}, or a tuple of words", found=stopwords)


def settled_stemmer(stemmer: Any, language: str) -> str:
    """The name of a Snowball algorithm, or "none"."""
    if stemmer is True:
        return OWN_STEMMER.get(language, language if language in SNOWBALL else "none")
    if stemmer is False:
        return "none"
    if isinstance(stemmer, str) and stemmer in STEMMERS:
        return stemmer
    raise ParameterError("stemmer", expected=f"True, False or one of {', '.join(STEMMERS)}", found=stemmer)


def parse_analyzer(text: str) -> Analyzer:
    """Parse a command's analyzer: LANGUAGE[:STOPWORDS[:STEMMER]], such as `german` or `english:nltk:porter`."""
    language, *others = text.split(":")
    if len(others) > len(("stopwords", "stemmer")):
        raise ParameterError("analyzer", expected="LANGUAGE[:STOPWORDS[:STEMMER]]", found=text)
    return Analyzer(language, **dict(zip(("stopwords", "stemmer"), others, strict=False)))
