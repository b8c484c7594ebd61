"""The index: the interface for stages (`SearchIndex`), and the embedded index, which needs no server."""

from __future__ import annotations

from rankwell.index.columns import NumberColumn, RangeFacet, TextColumn, ValueFacet
from rankwell.index.index import Index
from rankwell.index.manifest import is_index, with_metadata_names
from rankwell.index.merging import MergeJob
from rankwell.index.opening import as_index, in_folder, open_index, scheme_of
from rankwell.index.protocol import Hits, Mask, MetadataColumn, SearchIndex
from rankwell.index.scoring import IDFS, MATCHES, Scoring
from rankwell.index.snippets import Snippet
from rankwell.index.writer import IndexWriter

__all__ = [
    "IDFS",
    "MATCHES",
    "Hits",
    "Index",
    "IndexWriter",
    "Mask",
    "MergeJob",
    "MetadataColumn",
    "NumberColumn",
    "RangeFacet",
    "Scoring",
    "SearchIndex",
    "Snippet",
    "TextColumn",
    "ValueFacet",
    "as_index",
    "in_folder",
    "is_index",
    "open_index",
    "scheme_of",
    "with_metadata_names",
]
