"""Clean a text before a model reads it, as in the systematic-review study (4.1); each step is a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module

from rankwell.analysis.terms import STOPWORDS
from rankwell.core import MissingExtraError

LINK = re.compile(r"(?:\b(?:https?|ftp)://|\bwww\.)\S*[^\s.,;:!?'\")\]}>]", re.IGNORECASE)
WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W\d_]+)*")
# A number stands on its own: "covid-19", "il-6", "h1n1" and "5-year" are words.
NUMBER = re.compile(r"(?<!\w)(?<![^\W\d_]-)[+\-\u2212]?\d+(?:[.,:]\d+)*%?(?!\w|-[^\W\d_])")


@cache
def _simplemma() -> Callable[..., str]:
    try:
        lemmatize: Callable[..., str] = import_module("simplemma").lemmatize
    except ImportError as missing:
        raise MissingExtraError("lemmatising", extra="lemmas") from missing
    return lemmatize


def lemma(word: str, language: str = "en") -> str:
    """The dictionary form of a word ("were" gives "be"), by simplemma; the language is its ISO code."""
    return _simplemma()(word, lang=language)


def drop_line_breaks(text: str) -> str:
    """The text on one line, one space between words."""
    return " ".join(text.split())


def drop_links(text: str) -> str:
    """The text without web addresses; a full stop or bracket after one stays."""
    return LINK.sub("", text)


def drop_stopwords(text: str, stopwords: Collection[str] = STOPWORDS["nltk"]) -> str:
    """The text without the given lower-case words, with straight or curly apostrophes."""
    return WORD.sub(lambda match: "" if match[0].replace("\u2019", "'").lower() in stopwords else match[0], text)


def drop_numbers(text: str) -> str:
    """The text without numbers that stand on their own."""
    return NUMBER.sub("", text)


def lemmatise_words(text: str, lemmatise: Callable[[str], str] = lemma) -> str:
    """The text with every word in its dictionary form and the rest unchanged."""
    return WORD.sub(lambda match: lemmatise(match[0]), text)


def clean(
    text: str,
    *,
    stopwords: Collection[str] = STOPWORDS["nltk"],
    lemmatise: Callable[[str], str] | None = lemma,
) -> str:
    """Lower-case, one line, no links, stop words or numbers, words in their dictionary form.

    The systematic-review study took lemmas from WordNet: with NLTK and its data that is
    `lemmatise=WordNetLemmatizer().lemmatize`. None leaves the words as they are.
    """
    text = drop_links(text.lower())
    text = drop_numbers(drop_stopwords(text, stopwords))
    if lemmatise is not None:
        text = lemmatise_words(text, lemmatise)
    return drop_line_breaks(text.lower())  # a dictionary writes some words with a capital
