"""Vectors open for searching: beside an index in its folder, or stored by the index itself."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankwell.core import (
    Booleans,
    Floats,
    Integers,
    MissingExtraError,
    ParameterError,
    Phrase,
    RankwellError,
    fingerprint,
)
from rankwell.core.run import ranking_order
from rankwell.index import Hits, Index, Mask, SearchIndex
from rankwell.vectors.quantise import unit
from rankwell.vectors.rows import NOTHING, Documents, Manifest, Rows, vector_folders
from rankwell.vectors.search import (
    EXACT,
    HNSW,
    METHODS,
    Encoder,
    Found,
    Graph,
    KeepsVectors,
    Vectors,
    can_connect,
    exact,
    near,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")

ATTEMPTS = 100


class Embeddings:
    """The vectors of an index's documents at one commit of both.

    `stale` is the number of documents without a vector (yet): they are not found. Documents that are deleted, or
    whose text has changed, are not found by their old vectors.
    """

    def __init__(self, index: Index, folder: Path, manifest: Manifest) -> None:
        self.index, self.folder, self._manifest = index, folder, manifest
        self.name = folder.name
        self.model, self.dimensions = manifest.model, manifest.dimensions
        self.made_with, self.encoder_settings = manifest.made_with, manifest.encoder
        self.field, self.document, self.storage = manifest.field, manifest.document, manifest.storage
        self.pooling, self.layer = manifest.encoder.get("pooling"), manifest.encoder.get("layer", -1)
        self._rows = Rows(folder, manifest)
        keys = Documents(index, manifest.template, folder).keys()
        self._row_of = self._rows.find(keys)
        self.stale = int((index.live & (keys != NOTHING) & (self._row_of < 0)).sum())
        self.connected = manifest.graph is not None and manifest.connected

    @classmethod
    def open(cls, index: Index, name: str | None = None) -> Embeddings:
        """Open the vectors of that name, or the only ones."""
        embeddings = opened(index, chosen_folder(index, name))
        if embeddings.stale:
            logger.warning(
                "%s: %d of %d documents have no vector yet and are not found by it: run `rankwell encode %s --name %s`",
                *(embeddings.folder, embeddings.stale, len(index), index.path, embeddings.name),
            )
        return embeddings

    def __repr__(self) -> str:
        return f"Embeddings({str(self.folder)!r}, {self.count} vectors of {self.dimensions} numbers by {self.model})"

    @property
    def present(self) -> Booleans:
        """Mask of the live documents with a vector."""
        return np.asarray(self.index.live & (self._row_of >= 0))

    @property
    def count(self) -> int:
        """Number of live documents with a vector."""
        return int(self.present.sum())

    def fingerprint(self) -> str:
        """A fingerprint of these vectors of this index."""
        return fingerprint([self._manifest, self.index.fingerprint()])

    def info(self) -> dict[str, Any]:
        """Facts about the vectors, for display."""
        manifest = self._manifest
        sizes = {"vectors": sum(chunk.size for chunk in manifest.chunks)}
        return {
            "name": self.name,
            "model": self.model,
            "pooling": self.pooling,
            "layer": self.layer,
            "document": self.document or "all fields",
            "dimensions": self.dimensions,
            "documents": self.count,
            "without": self.stale,
            "storage": self.storage,
            "bytes": sizes | {"graph": manifest.graph.size if manifest.graph else 0},
        }

    def verify(self) -> None:
        """Check every byte of rows and graph; raise for the first damaged file. `verify_vectors` checks keys too."""
        for chunk in self._rows.chunks:
            chunk.file.verify()
        if self._manifest.graph is not None:
            self.graph.verify()

    def encoder(self) -> Encoder:
        """The encoder that made the vectors; raises where it has changed since."""
        from rankwell.models.base import load_text_encoder

        encoder: Encoder = load_text_encoder(self.model, **self._manifest.encoder)
        check_encoder(self.folder, self._manifest, encoder)
        return encoder

    def vectors(self, documents: Integers) -> Floats:
        """The vectors of documents by number; zeros where there is none."""
        rows = self._row_of[documents]
        known = self._rows.vectors(np.maximum(rows, 0)) if self._rows.count else np.zeros((len(rows), self.dimensions))
        return np.where(rows[:, None] >= 0, known, 0).astype(np.float32)

    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        within: npt.ArrayLike | Mask | None = None,
        method: str = EXACT,
        width: int | None = None,
        threads: int = 1,
    ) -> Hits:
        """The k documents most similar to each query (a row of numbers), by cosine.

        `within` restricts the documents: a mask over all of them, or their numbers. `exact` compares all vectors,
        `hnsw` follows the graph and compares about `width` (at least 128, and twice k): faster where there are very
        many, and may miss a few. The scores are the same.
        """
        if k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=k)
        if method not in METHODS:
            raise ParameterError("method", expected=" or ".join(METHODS), found=method)
        if width is not None and width < k:
            raise ParameterError("width", expected=f"a number of candidates, at least {k}", found=width)
        asked = unit(np.atleast_2d(np.asarray(queries, dtype=np.float32)))
        if asked.shape[1] != self.dimensions:
            expected = f"rows of {self.dimensions} numbers, as {self.model} makes them"
            raise ParameterError("queries", expected=expected, found=f"{asked.shape[1]}")
        allowed = self._present if within is None else self._present & self.index.mask(within)[self._document_of]
        if not allowed.any():
            return _hits([_NONE] * len(asked), self.index)
        if method == HNSW and self.graph is not None and self.connected:
            candidates = near(self._rows, self.graph, asked, k, allowed, width=width, threads=threads)
        else:
            candidates = exact(self._rows, asked, k, None if allowed.all() else allowed, threads)
        return _hits([self._ranked(*of_query, k) for of_query in candidates], self.index)

    @cached_property
    def graph(self) -> Graph:
        """The graph for approximate search."""
        if not can_connect():
            raise MissingExtraError("approximate search (--hnsw)", extra="ann")
        if self._manifest.graph is None:
            raise RankwellError(f"{self.folder}: expected a graph, found none: make one with `rankwell encode`")
        return Graph(self.folder, self._manifest.graph, self.dimensions)

    @cached_property
    def _document_of(self) -> Integers:
        """The live document of each row, or -1."""
        document_of = np.full(self._rows.count, -1, dtype=np.int64)
        documents = np.flatnonzero(self.index.live & (self._row_of >= 0))
        document_of[self._row_of[documents]] = documents
        return document_of

    @cached_property
    def _present(self) -> Booleans:
        """Mask of the rows with a live document."""
        return self._document_of >= 0

    def _ranked(self, rows: Integers, scores: Floats, k: int) -> Found:
        """Documents in ranking order; ids are read only for equal scores."""
        documents = self._document_of[rows]
        order = np.lexsort((documents, -scores))
        documents, scores = documents[order], scores[order]
        if (scores[1:] == scores[:-1]).any():
            settled = ranking_order(np.array([0, len(scores)]), self.index.docnos(documents), scores)
            documents = documents if settled is None else documents[settled]
        return documents[:k], scores[:k]


_NONE: Found = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))


def embeddings_of(index: Index) -> list[Embeddings]:
    """All vectors beside an index."""
    return [opened(index, folder) for folder in vector_folders(index.path).values()]


def verify_vectors(index: Index) -> None:
    """Check every byte of all vectors beside an index: rows, graphs, and the keys that say whose they are."""
    for folder in vector_folders(index.path).values():
        Documents(index, Manifest.read(folder).template, folder).verify()  # first: opening replaces damaged keys
        opened(index, folder).verify()


def chosen_folder(index: Index, name: str | None = None) -> Path:
    """The folder of the vectors of that name, or of the only ones."""
    hint = f"encode it first with `rankwell encode {index.path} --model bge-small-en`"
    return chosen(vector_folders(index.path), name, f"{index.path} has no vectors: {hint}")


def chosen(there: Mapping[str, T], name: str | None, empty: str) -> T:
    """The vectors of that name, or the only ones; `empty` is the advice where there are none."""
    if not there:
        raise RankwellError(empty)
    if name is None and len(there) > 1:
        raise ParameterError("vectors", expected=f"one of {', '.join(there)}", found=Phrase("none of them named"))
    wanted = next(iter(there)) if name is None else name
    if wanted not in there:
        raise ParameterError("vectors", expected=f"one of {', '.join(there)}", found=wanted)
    return there[wanted]


def opened(index: Index, folder: Path) -> Embeddings:
    """Open the last commit of a folder of vectors."""
    for _ in range(ATTEMPTS):
        manifest = Manifest.read(folder)
        try:
            return Embeddings(index, folder, manifest)
        except RankwellError as error:
            # A commit between the two may have removed files.
            gone = isinstance(error.__cause__, FileNotFoundError)
            if not gone or Manifest.read(folder).commit == manifest.commit:
                raise
    raise RankwellError(f"{folder}: commits come faster than they can be read")


def check_encoder(folder: Path, manifest: Manifest, encoder: Encoder) -> None:
    """Raise where an encoder is not the one that made the vectors."""
    if encoder.fingerprint() != manifest.made_with or encoder.dimensions != manifest.dimensions:
        way_out = "encode under another --name, or remove that folder"
        raise RankwellError(
            f"{folder}: expected the model that the vectors were made with ({manifest.model}), found another one or "
            f"other settings ({encoder.model}): {way_out}"
        )


def _hits(rankings: list[Found], index: Index) -> Hits:
    offsets = np.cumsum([0, *(len(documents) for documents, _ in rankings)])
    documents = np.concatenate([_NONE[0], *(documents for documents, _ in rankings)])
    scores = np.concatenate([_NONE[1], *(scores for _, scores in rankings)])
    return Hits(offsets, documents, scores, index)


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
    return _opened(index, folder, Manifest.read(folder).commit)


@lru_cache(maxsize=4)
def _opened(index: Index, folder: Path, commit: int) -> Embeddings:  # noqa: ARG001 -- part of the cache key
    return Embeddings.open(index, folder.name)
