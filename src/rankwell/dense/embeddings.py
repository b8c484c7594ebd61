"""Vectors beside an index, open for searching."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError, Progress, RankwellError
from rankwell.core.arrays import Floats, Integers
from rankwell.core.errors import Phrase
from rankwell.core.fingerprint import fingerprint
from rankwell.core.order import ranking_order
from rankwell.core.progress import SILENT
from rankwell.dense.documents import NOTHING, Documents
from rankwell.dense.exact import Allowed, Found, at_least, exact, scored
from rankwell.dense.graph import WIDER, WIDTH, Graph
from rankwell.dense.manifest import Manifest, read_manifest, vector_folders
from rankwell.dense.quantise import query_codes, unit
from rankwell.dense.rows import Rows
from rankwell.index import Hits, Index

logger = logging.getLogger(__name__)

ATTEMPTS = 100
EXACT, HNSW = METHODS = ("exact", "hnsw")
MOSTLY = 0.5  # the share of the graph's vectors that must be allowed for a search of the graph to be worth while


class Encoder(Protocol):
    """What makes vectors of texts; `rankwell.encode.TextEncoder` is one."""

    model: str
    dimensions: int

    def encode(self, texts: list[str], progress: Progress = SILENT) -> Floats:
        """A row for each text, as documents are encoded."""

    def encode_queries(self, texts: list[str]) -> Floats:
        """A row for each query."""

    def fingerprint(self) -> str:
        """A name for everything that a vector depends on besides the text."""


class Embeddings:
    """The vectors of an index's documents as they were at one commit of both.

    `stale` is the number of documents that have no vector (yet): they are not found. Documents that are deleted, or
    whose text has changed, are not found by their old vectors.
    """

    def __init__(self, index: Index, folder: Path, manifest: Manifest) -> None:
        self.index, self.folder, self._manifest = index, folder, manifest
        self.name = folder.name
        self.model, self.dimensions = manifest.model, manifest.dimensions
        self.made_with = manifest.made_with
        self.field, self.document, self.storage = manifest.field, manifest.document, manifest.storage
        self.pooling, self.layer = manifest.encoder.get("pooling"), manifest.encoder.get("layer", -1)
        self._rows = Rows(folder, manifest)
        keys = Documents(index, manifest.template, folder).keys()
        self._row_of = self._rows.find(keys)
        self.stale = int((index.live & (keys != NOTHING) & (self._row_of < 0)).sum())
        self.connected = manifest.graph is not None and manifest.connected

    @classmethod
    def open(cls, index: Index, name: str | None = None) -> Embeddings:
        """The vectors of that name, or the only ones there are."""
        found = opened(index, chosen_folder(index, name))
        if found.stale:
            logger.warning(
                "%s: %d of %d documents have no vector yet and are not found by it: run `rankwell encode %s --name %s`",
                *(found.folder, found.stale, len(index), index.path, found.name),
            )
        return found

    def __repr__(self) -> str:
        return f"Embeddings({str(self.folder)!r}, {self.count} vectors of {self.dimensions} numbers by {self.model})"

    @property
    def present(self) -> Allowed:
        """A mask of the live documents that have a vector."""
        return np.asarray(self.index.live & (self._row_of >= 0))

    @property
    def count(self) -> int:
        """How many live documents have a vector."""
        return int(self.present.sum())

    @property
    def encoder_settings(self) -> Mapping[str, Any]:
        """What the encoder was opened with, besides the model's name."""
        return self._manifest.encoder

    def fingerprint(self) -> str:
        """A name for these vectors of this index."""
        return fingerprint([self._manifest, self.index.fingerprint()])

    def info(self) -> dict[str, Any]:
        """What there is to say about them."""
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
        """Check every byte of every file of vectors; raise for the first that is damaged."""
        for chunk in self._rows.chunks:
            chunk.file.verify()
        if self._manifest.graph is not None:
            self.graph.verify()

    def encoder(self) -> Encoder:
        """The encoder that made the vectors; raises where it has changed since."""
        from rankwell.encode import load_text_encoder

        found: Encoder = load_text_encoder(self.model, **self._manifest.encoder)
        check_encoder(self.folder, self._manifest, found)
        return found

    def vectors(self, documents: Integers) -> Floats:
        """The vectors of documents by their numbers; zeros where there is none."""
        rows = self._row_of[documents]
        found = self._rows.vectors(np.maximum(rows, 0)) if self._rows.count else np.zeros((len(rows), self.dimensions))
        return np.where(rows[:, None] >= 0, found, 0).astype(np.float32)

    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        within: npt.ArrayLike | None = None,
        method: str = EXACT,
        width: int | None = None,
        threads: int = 1,
    ) -> Hits:
        """The k documents of largest cosine with each query (a row of numbers).

        `within` restricts the documents: a mask over all of them, or their numbers. `exact` looks at every vector,
        `hnsw` follows the graph and looks at about `width` (at least 128, and twice k): quicker where there are very
        many, and now and then it misses one. The scores are the same.
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
        allowed = self._allowed(within)
        if not allowed.any():
            return _hits([_NONE] * len(asked), self.index)
        if method == HNSW:
            found = self._near(asked, k, allowed, width or max(WIDTH, WIDER * k), threads)
        else:
            found = exact(self._rows, asked, k, None if allowed.all() else allowed, threads)
        return _hits([self._ranked(*of_query, k) for of_query in found], self.index)

    @cached_property
    def graph(self) -> Graph:
        """The graph for approximate search."""
        if self._manifest.graph is None:
            raise RankwellError(f"{self.folder}: expected a graph, found none: make one with `rankwell encode`")
        return Graph(self.folder, self._manifest.graph, self.dimensions)

    @cached_property
    def _document_of(self) -> Integers:
        """The live document of each row, -1 where there is none."""
        found = np.full(self._rows.count, -1, dtype=np.int64)
        documents = np.flatnonzero(self.index.live & (self._row_of >= 0))
        found[self._row_of[documents]] = documents
        return found

    @cached_property
    def _present(self) -> Allowed:
        """The rows that have a live document."""
        return self._document_of >= 0

    def _allowed(self, within: npt.ArrayLike | None) -> Allowed:
        return self._present if within is None else self._present & self.index.mask(within)[self._document_of]

    def _near(self, queries: Floats, k: int, allowed: Allowed, width: int, threads: int) -> Iterator[Found]:
        """By the graph; exactly, where it holds too many vectors that are not wanted or lacks some that are."""
        graph, codes = self.graph, query_codes(queries)
        wanted = int(allowed.sum())
        if not self.connected or wanted < MOSTLY * graph.rows or k >= wanted:
            yield from exact(self._rows, queries, k, allowed, threads)
            return
        wider = int(width * graph.rows / wanted)
        for place, keys in enumerate(graph.search(codes, wider, threads)):
            rows = self._rows.find(keys)
            rows = rows[(rows >= 0) & allowed[rows]]
            if len(rows) < k:
                yield from exact(self._rows, queries[place : place + 1], k, allowed, threads)
            else:
                one = codes.part(place, place + 1)
                yield at_least(rows, scored(self._rows, one, rows)[0], k)

    def _ranked(self, rows: Integers, scores: Floats, k: int) -> Found:
        """Documents in order; ids are only looked at where scores are equal."""
        documents = self._document_of[rows]
        order = np.lexsort((documents, -scores))
        documents, scores = documents[order], scores[order]
        if (scores[1:] == scores[:-1]).any():
            settled = ranking_order(np.array([0, len(scores)]), self.index.docnos(documents), scores)
            documents = documents if settled is None else documents[settled]
        return documents[:k], scores[:k]


_NONE: Found = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))


def embeddings_of(index: Index) -> list[Embeddings]:
    """All vectors that lie beside an index."""
    return [opened(index, folder) for folder in vector_folders(index.path).values()]


def chosen_folder(index: Index, name: str | None = None) -> Path:
    """The folder of the vectors of that name, or of the only ones there are."""
    there = vector_folders(index.path)
    if not there:
        hint = f"rankwell encode {index.path} --model bge-small-en"
        raise RankwellError(f"{index.path} has no vectors: encode it first with `{hint}`")
    if name is None and len(there) > 1:
        raise ParameterError("vectors", expected=f"one of {', '.join(there)}", found=Phrase("none of them named"))
    chosen = next(iter(there)) if name is None else name
    if chosen not in there:
        raise ParameterError("vectors", expected=f"one of {', '.join(there)}", found=chosen)
    return there[chosen]


def opened(index: Index, folder: Path) -> Embeddings:
    """The last commit of a folder of vectors."""
    for _ in range(ATTEMPTS):
        manifest = read_manifest(folder)
        try:
            return Embeddings(index, folder, manifest)
        except RankwellError as error:
            # A commit between the two may have removed what it replaced.
            gone = isinstance(error.__cause__, FileNotFoundError)
            if not gone or read_manifest(folder).commit == manifest.commit:
                raise
    raise RankwellError(f"{folder}: commits come faster than they can be read")


def check_encoder(folder: Path, manifest: Manifest, encoder: Encoder) -> None:
    """Raise where an encoder is not the one that the vectors were made with."""
    if encoder.fingerprint() != manifest.made_with or encoder.dimensions != manifest.dimensions:
        way_out = "encode under another --name, or remove that folder"
        raise RankwellError(
            f"{folder}: expected the model that the vectors were made with ({manifest.model}), found another one or "
            f"other settings ({encoder.model}): {way_out}"
        )


def _hits(found: list[Found], index: Index) -> Hits:
    offsets = np.cumsum([0, *(len(documents) for documents, _ in found)])
    documents = np.concatenate([_NONE[0], *(documents for documents, _ in found)])
    scores = np.concatenate([_NONE[1], *(scores for _, scores in found)])
    return Hits(offsets, documents, scores, index)
