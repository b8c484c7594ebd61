"""The embedded index: written, committed, merged and searched without a server."""

from __future__ import annotations

from rankwell.index.columns import NumberColumn, TextColumn
from rankwell.index.documents import StoredDocuments
from rankwell.index.facets import RangeFacet, ValueFacet, facet_of, is_facet
from rankwell.index.hits import Hits
from rankwell.index.index import Index
from rankwell.index.manifest import is_index
from rankwell.index.merge_job import MergeJob
from rankwell.index.sampling import with_metadata_names
from rankwell.index.scoring import IDFS, MATCHES, Scoring
from rankwell.index.snippets import Snippet
from rankwell.index.writer import IndexWriter

__all__ = [
    "IDFS",
    "MATCHES",
    "Hits",
    "Index",
    "IndexWriter",
    "MergeJob",
    "NumberColumn",
    "RangeFacet",
    "Scoring",
    "Snippet",
    "StoredDocuments",
    "TextColumn",
    "ValueFacet",
    "facet_of",
    "is_facet",
    "is_index",
    "with_metadata_names",
]
