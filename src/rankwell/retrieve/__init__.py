"""Retrieval: match functions, rankers, and fusion of runs."""

from __future__ import annotations

from rankwell.retrieve.baselines import CosineTfIdf, RandomRanker, SumTfIdf
from rankwell.retrieve.bm25 import BM25, TermPart, explain_score
from rankwell.retrieve.boolean import Boolean, Field, Phrase, Term, parse_expression
from rankwell.retrieve.candidates import filtered, match_ratios, matched, parse_match
from rankwell.retrieve.dense import Dense
from rankwell.retrieve.expansion import RM3, SimilarQueries, query_variants
from rankwell.retrieve.filters import filter_mask, parse_filter
from rankwell.retrieve.fusion import (
    FUSIONS,
    NORMALISERS,
    CombMNZ,
    Fusion,
    Hybrid,
    ReciprocalRank,
    WeightedSum,
    fuse,
    fusion,
    normaliser,
    zscore,
)
from rankwell.retrieve.matching import AllTerms, AnyTerm, Asked, Intersection, Match, Nearest, Union
from rankwell.retrieve.syntax import And, Node, Not, Or

__all__ = [
    "BM25",
    "FUSIONS",
    "NORMALISERS",
    "RM3",
    "AllTerms",
    "And",
    "AnyTerm",
    "Asked",
    "Boolean",
    "CombMNZ",
    "CosineTfIdf",
    "Dense",
    "Field",
    "Fusion",
    "Hybrid",
    "Intersection",
    "Match",
    "Nearest",
    "Node",
    "Not",
    "Or",
    "Phrase",
    "RandomRanker",
    "ReciprocalRank",
    "SimilarQueries",
    "SumTfIdf",
    "Term",
    "TermPart",
    "Union",
    "WeightedSum",
    "explain_score",
    "filter_mask",
    "filtered",
    "fuse",
    "fusion",
    "match_ratios",
    "matched",
    "normaliser",
    "parse_expression",
    "parse_filter",
    "parse_match",
    "query_variants",
    "zscore",
]
