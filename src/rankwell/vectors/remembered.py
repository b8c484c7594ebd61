"""The vectors of any index: in the index's folder, or stored by the index itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol, runtime_checkable

from rankwell.index import Index, SearchIndex
from rankwell.vectors.embeddings import Embeddings, Vectors, chosen, chosen_folder, embeddings_of
from rankwell.vectors.manifest import read_manifest


@runtime_checkable
class KeepsVectors(Protocol):
    """An index that stores its vectors itself, as one in a database does."""

    def vectors(self) -> Mapping[str, Vectors]:
        """The vectors by name."""


def vectors_of(index: SearchIndex, name: str | None = None) -> Vectors:
    """The vectors of that name, or the only ones, of any kind of index."""
    if isinstance(index, Index):
        return remembered(index, name)
    hint = "encode the folder that it was copied from with `rankwell encode`, and copy it again"
    kept = index.vectors() if isinstance(index, KeepsVectors) else {}
    return chosen(kept, name, f"{index.path} has no vectors: {hint}")


def all_vectors_of(index: SearchIndex) -> Sequence[Vectors]:
    """All vectors of any kind of index."""
    if isinstance(index, Index):
        return embeddings_of(index)
    return list(index.vectors().values()) if isinstance(index, KeepsVectors) else []


def remembered(index: Index, name: str | None = None) -> Embeddings:
    """The vectors of that name, or the only ones; reopened after a later commit."""
    folder = chosen_folder(index, name)
    return _opened(index, folder, read_manifest(folder).commit)


@lru_cache(maxsize=4)
def _opened(index: Index, folder: Path, commit: int) -> Embeddings:  # noqa: ARG001 -- part of the cache key
    return Embeddings.open(index, folder.name)
