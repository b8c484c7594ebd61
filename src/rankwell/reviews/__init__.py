"""Systematic reviews: matching their studies with PubMed, building collections, and screening."""

from __future__ import annotations

from rankwell.reviews.build import (
    BuildSettings,
    ReviewCollection,
    build_collection,
    read_dates,
    read_examples,
    relevant_examples,
    split_reviews,
    write_collection,
)
from rankwell.reviews.finding import CandidateSource, PubMedSource, StudyFinder, open_local, read_decisions
from rankwell.reviews.matching import MatchingRule, StudyMatch, Verdict, comparable_authors, comparable_title, gestalt
from rankwell.reviews.pubmed.answers import AnswerCache
from rankwell.reviews.pubmed.client import EUtilities, PubMedRanker, top_share
from rankwell.reviews.pubmed.transport import Account, SearchResult
from rankwell.reviews.references import parse_nbib, read_nbib, read_references, write_nbib
from rankwell.reviews.review_files import ListedStudy, Review, read_reviews
from rankwell.reviews.ris import Reference, parse_ris, read_ris, write_ris
from rankwell.reviews.statistics import review_statistics

__all__ = [
    "Account",
    "AnswerCache",
    "BuildSettings",
    "CandidateSource",
    "EUtilities",
    "ListedStudy",
    "MatchingRule",
    "PubMedRanker",
    "PubMedSource",
    "Reference",
    "Review",
    "ReviewCollection",
    "SearchResult",
    "StudyFinder",
    "StudyMatch",
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
    "write_collection",
    "write_nbib",
    "write_ris",
]
