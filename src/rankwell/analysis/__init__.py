"""From text to terms: tokenising, stop words, stemming, and the cleaning of text features."""

from __future__ import annotations

from rankwell.analysis.analyzer import LANGUAGES, Analyzer, parse_analyzer
from rankwell.analysis.clean import clean
from rankwell.analysis.language import Language, choose_analyzer, detect_language
from rankwell.analysis.terms import STOPWORDS

__all__ = [
    "LANGUAGES",
    "STOPWORDS",
    "Analyzer",
    "Language",
    "choose_analyzer",
    "clean",
    "detect_language",
    "parse_analyzer",
]
