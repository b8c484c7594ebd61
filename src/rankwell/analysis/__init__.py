"""From text to terms: tokenising, stop words, stemming, and the cleaning of text features."""

from __future__ import annotations

from rankwell.analysis.analyzer import LANGUAGES, Analyzer, parse_analyzer
from rankwell.analysis.clean import clean
from rankwell.analysis.terms import STOPWORDS

__all__ = ["LANGUAGES", "STOPWORDS", "Analyzer", "clean", "parse_analyzer"]
