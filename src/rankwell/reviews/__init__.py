"""Systematic reviews: matching their studies with PubMed, and what can be done with them then."""

from __future__ import annotations

from rankwell.reviews.build import BuildSettings, ReviewCollection, build_collection
from rankwell.reviews.decisions import read_decisions, write_ambiguous
from rankwell.reviews.finding import FoundStudy, StudyFinder
from rankwell.reviews.matching import Comparison, Match, MatchingRule, Verdict
from rankwell.reviews.nbib import parse_nbib, read_nbib, write_nbib
from rankwell.reviews.normalise import comparable_authors, comparable_title
from rankwell.reviews.output import read_dates, read_examples, write_collection
from rankwell.reviews.pubmed import Account, AnswerCache, EUtilities, SearchResult
from rankwell.reviews.pubmed_ranker import PubMedRanker, top_share
from rankwell.reviews.reference import Reference
from rankwell.reviews.references import read_references
from rankwell.reviews.review import Review, Study
from rankwell.reviews.review_files import read_reviews
from rankwell.reviews.ris import parse_ris, read_ris, write_ris
from rankwell.reviews.similarity import gestalt
from rankwell.reviews.sources import CandidateSource, LocalSource, PubMedSource, open_local
from rankwell.reviews.splitting import relevant_examples, split_reviews
from rankwell.reviews.statistics import ReviewStatistics, review_statistics

__all__ = [
    "Account",
    "AnswerCache",
    "BuildSettings",
    "CandidateSource",
    "Comparison",
    "EUtilities",
    "FoundStudy",
    "LocalSource",
    "Match",
    "MatchingRule",
    "PubMedRanker",
    "PubMedSource",
    "Reference",
    "Review",
    "ReviewCollection",
    "ReviewStatistics",
    "SearchResult",
    "Study",
    "StudyFinder",
    "Verdict",
    "build_collection",
    "comparable_authors",
    "comparable_title",
    "gestalt",
    "open_local",
    "parse_nbib",
    "parse_ris",
    "read_dates",
    "read_decisions",
    "read_examples",
    "read_nbib",
    "read_references",
    "read_reviews",
    "read_ris",
    "relevant_examples",
    "review_statistics",
    "split_reviews",
    "top_share",
    "write_ambiguous",
    "write_collection",
    "write_nbib",
    "write_ris",
]
