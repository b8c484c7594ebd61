"""Rankwell: from a pile of documents to a ranking people can trust."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


__version__ = "0.1.0.dev0"

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

HOMES = ("rankwell.core", "rankwell.collections", "rankwell.analysis")


def __getattr__(name: str) -> Any:
    """A public name, loaded when it is first asked for, so that commands start (and can be interrupted) at once."""
    if name in __all__:
        for home in map(import_module, HOMES):
            if hasattr(home, name):
                return globals().setdefault(name, getattr(home, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
