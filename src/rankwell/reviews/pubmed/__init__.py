"""PubMed through NCBI's E-utilities, with a cache of all answers."""

from __future__ import annotations

from rankwell.reviews.pubmed.answers import AnswerCache
from rankwell.reviews.pubmed.client import EUtilities, title_term
from rankwell.reviews.pubmed.transport import Account, SearchResult

__all__ = ["Account", "AnswerCache", "EUtilities", "SearchResult", "title_term"]
