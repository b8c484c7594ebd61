"""From text to terms: tokenising, stop words, stemming, and the cleaning of text features."""

from __future__ import annotations

from rankwell.analysis.analyzer import LANGUAGES, STEMMERS, Analyzer, parse_analyzer
from rankwell.analysis.clean import (
    clean,
    drop_line_breaks,
    drop_links,
    drop_numbers,
    drop_stopwords,
    lemma,
    lemmatise_words,
)
from rankwell.analysis.terms import STOPWORDS

__all__ = [
    "LANGUAGES",
    "STEMMERS",
    "STOPWORDS",
    "Analyzer",
    "clean",
    "drop_line_breaks",
    "drop_links",
    "drop_numbers",
    "drop_stopwords",
    "lemma",
    "lemmatise_words",
    "parse_analyzer",
]
