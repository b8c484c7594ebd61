"""Systematic reviews: matching their studies with PubMed, building collections, and screening."""

from __future__ import annotations

from rankwell.collections.references import Reference
from rankwell.reviews.build import BuildSettings, build_collection, write_collection
from rankwell.reviews.finding import CandidateSource, PubMedSource, StudyFinder, open_local
from rankwell.reviews.matching import MatchingRule, gestalt
from rankwell.reviews.pubmed.client import EUtilities
from rankwell.reviews.review_files import ListedStudy, read_reviews
from rankwell.reviews.statistics import review_statistics

__all__ = [
    "BuildSettings",
    "CandidateSource",
    "EUtilities",
    "ListedStudy",
    "MatchingRule",
    "PubMedSource",
    "Reference",
    "StudyFinder",
    "build_collection",
    "gestalt",
    "open_local",
    "read_reviews",
    "review_statistics",
    "write_collection",
]
