"""The index: the interface for stages (`SearchIndex`), and the embedded index, which needs no server."""

from __future__ import annotations

from rankwell.index.columns import DateFacet, NumberColumn, RangeFacet, TextColumn, ValueFacet
from rankwell.index.index import Index
from rankwell.index.manifest import is_index, with_metadata_names
from rankwell.index.merging import MergeJob
from rankwell.index.opening import as_index, in_folder, open_index, scheme_of
from rankwell.index.protocol import Hits, Mask, MetadataColumn, SearchIndex
from rankwell.index.scoring import IDFS, MATCHES, Scoring
from rankwell.index.snippets import Snippet
from rankwell.index.source_tables import keep_tables, read_tables
from rankwell.index.syncing import Changes, SyncOptions, sync
from rankwell.index.watching import watch_source
from rankwell.index.writer import IndexWriter

__all__ = [
    "IDFS",
    "MATCHES",
    "Changes",
    "DateFacet",
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
    "SyncOptions",
    "TextColumn",
    "ValueFacet",
    "as_index",
    "in_folder",
    "is_index",
    "keep_tables",
    "open_index",
    "read_tables",
    "scheme_of",
    "sync",
    "watch_source",
    "with_metadata_names",
]
