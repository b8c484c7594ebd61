"""PubMed through NCBI's E-utilities, with every answer kept."""

from __future__ import annotations

from rankwell.reviews.pubmed.account import Account
from rankwell.reviews.pubmed.answers import AnswerCache
from rankwell.reviews.pubmed.client import EUtilities
from rankwell.reviews.pubmed.replies import SearchResult
from rankwell.reviews.pubmed.terms import title_term

__all__ = ["Account", "AnswerCache", "EUtilities", "SearchResult", "title_term"]
