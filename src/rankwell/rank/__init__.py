"""Scoring the matched documents: rankers, their fusion, and how scores are brought to one scale."""

from __future__ import annotations

from rankwell.core.scales import unit
from rankwell.rank.bm25 import BM25
from rankwell.rank.dense import Dense
from rankwell.rank.expansion import SimilarQueries, TermSearch
from rankwell.rank.explanation import TermPart, explain_score
from rankwell.rank.fusion import FUSIONS, CombMNZ, Fusion, Hybrid, ReciprocalRank, WeightedSum, fusion
from rankwell.rank.normalise import NORMALISERS, normaliser, zscore
from rankwell.rank.random_ranker import RandomRanker
from rankwell.rank.rm3 import RM3
from rankwell.rank.tfidf import CosineTfIdf, SumTfIdf
from rankwell.rank.variants import query_variants

__all__ = [
    "BM25",
    "FUSIONS",
    "NORMALISERS",
    "RM3",
    "CombMNZ",
    "CosineTfIdf",
    "Dense",
    "Fusion",
    "Hybrid",
    "RandomRanker",
    "ReciprocalRank",
    "SimilarQueries",
    "SumTfIdf",
    "TermPart",
    "TermSearch",
    "WeightedSum",
    "explain_score",
    "fusion",
    "normaliser",
    "query_variants",
    "unit",
    "zscore",
]
