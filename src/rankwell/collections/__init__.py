"""Reading and writing everyone's documents, queries, judgments and runs."""

from __future__ import annotations

from rankwell.collections.anything import read_any_qrels, read_any_queries
from rankwell.collections.collection import Collection, open_collection
from rankwell.collections.columns import ColumnChoice
from rankwell.collections.documents import read_documents, unique, write_documents
from rankwell.collections.problems import Problems
from rankwell.collections.qrels import read_qrels, write_qrels
from rankwell.collections.queries import read_queries, write_queries
from rankwell.collections.reading import Reading
from rankwell.collections.runs import read_run, write_run

__all__ = [
    "Collection",
    "ColumnChoice",
    "Problems",
    "Reading",
    "open_collection",
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
