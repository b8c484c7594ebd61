"""PubMed through NCBI's E-utilities, with a cache of all answers."""

from __future__ import annotations

from rankwell.reviews.pubmed.client import EUtilities, title_term

__all__ = ["EUtilities", "title_term"]
