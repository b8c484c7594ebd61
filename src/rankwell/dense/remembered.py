"""Vectors that stay open from query to query."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from rankwell.dense.embeddings import Embeddings, chosen_folder
from rankwell.dense.manifest import read_manifest
from rankwell.index import Index


def remembered(index: Index, name: str | None = None) -> Embeddings:
    """The vectors of that name, or the only ones; opened anew when there is a later commit of them."""
    folder = chosen_folder(index, name)
    return _opened(index, folder, read_manifest(folder).commit)


@lru_cache(maxsize=4)
def _opened(index: Index, folder: Path, commit: int) -> Embeddings:  # noqa: ARG001 -- the commit tells them apart
    return Embeddings.open(index, folder.name)
