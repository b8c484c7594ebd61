"""Rankwell: from a pile of documents to a ranking people can trust."""

from __future__ import annotations

__version__ = "0.1.0.dev0"

from rankwell.analysis import Analyzer
from rankwell.collections import (
    Collection,
    open_collection,
    read_documents,
    read_qrels,
    read_queries,
    read_run,
    write_documents,
    write_qrels,
    write_queries,
    write_run,
)
from rankwell.core import Document, Judgments, Pipeline, Queries, Query, RankwellError, Run, Stage

__all__ = [
    "Analyzer",
    "Collection",
    "Document",
    "Judgments",
    "Pipeline",
    "Queries",
    "Query",
    "RankwellError",
    "Run",
    "Stage",
    "__version__",
    "open_collection",
    "read_documents",
    "read_qrels",
    "read_queries",
    "read_run",
    "write_documents",
    "write_qrels",
    "write_queries",
    "write_run",
]
