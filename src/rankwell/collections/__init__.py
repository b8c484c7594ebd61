"""Reading and writing documents, queries, judgments and runs in many formats."""

from __future__ import annotations

from rankwell.collections.any_format import (
    read_documents,
    read_qrels,
    read_queries,
    read_run,
    write_documents,
    write_qrels,
    write_queries,
    write_run,
)
from rankwell.collections.collection import Collection, open_collection, read_any_qrels, read_any_queries
from rankwell.collections.columns import ColumnChoice
from rankwell.collections.given import documents_of
from rankwell.collections.preview import Preview, preview
from rankwell.collections.reading import Problems, Reading, unique

__all__ = [
    "Collection",
    "ColumnChoice",
    "Preview",
    "Problems",
    "Reading",
    "documents_of",
    "open_collection",
    "preview",
    "read_any_qrels",
    "read_any_queries",
    "read_documents",
    "read_qrels",
    "read_queries",
    "read_run",
    "unique",
    "write_documents",
    "write_qrels",
    "write_queries",
    "write_run",
]
