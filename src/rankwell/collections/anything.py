"""Queries and judgments from wherever a user names: a file of their own, or a collection that has some."""

from __future__ import annotations

from pathlib import Path

from rankwell.collections.collection import open_collection
from rankwell.collections.qrels import read_qrels
from rankwell.collections.queries import read_queries
from rankwell.core.judgments import Judgments
from rankwell.core.query import Queries


def read_any_queries(source: str, split: str | None = None) -> Queries:
    """Queries of a file in any format, or of a collection (a folder, rankwell:python, irds:ID)."""
    return read_queries(source) if Path(source).is_file() else open_collection(source).queries(split)


def read_any_qrels(source: str, split: str | None = None) -> Judgments:
    """Judgments of a file in any format, or of a collection."""
    return read_qrels(source) if Path(source).is_file() else open_collection(source).judgments(split)
