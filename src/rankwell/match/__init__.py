"""Which documents are looked at: AND, OR, nearest by embedding, boolean expressions, filters."""

from __future__ import annotations

from rankwell.match.ann import Nearest
from rankwell.match.boolean import Boolean
from rankwell.match.candidates import MatchRatios, filtered, match_ratios, matched
from rankwell.match.expression import Field, Phrase, Term, parse_expression
from rankwell.match.filters import filter_mask, parse_filter
from rankwell.match.functions import AllTerms, AnyTerm, Intersection, Match, Union
from rankwell.match.logic import And, Node, Not, Or
from rankwell.match.postings import Asked, Postings
from rankwell.match.specification import MATCHES, parse_match

__all__ = [
    "MATCHES",
    "AllTerms",
    "And",
    "AnyTerm",
    "Asked",
    "Boolean",
    "Field",
    "Intersection",
    "Match",
    "MatchRatios",
    "Nearest",
    "Node",
    "Not",
    "Or",
    "Phrase",
    "Postings",
    "Term",
    "Union",
    "filter_mask",
    "filtered",
    "match_ratios",
    "matched",
    "parse_expression",
    "parse_filter",
    "parse_match",
]
