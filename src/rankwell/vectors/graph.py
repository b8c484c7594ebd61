"""Approximate search: a graph of near neighbours (HNSW), built and searched by usearch.

The graph holds the upper planes of the vectors (8-bit numbers) by the keys of their documents, so that files of
vectors can be merged without changing it. Its results are scored again with all 16 bits.

Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable Small World
graphs", IEEE PAMI 2020.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwell.core import MissingExtraError, RankwellError
from rankwell.core.arrays import Integers
from rankwell.core.progress import SILENT, Progress
from rankwell.index.blocks import BlockFile, BlockWriter
from rankwell.vectors.manifest import FileEntry
from rankwell.vectors.quantise import QueryCodes
from rankwell.vectors.rows import Keys, Rows

KIND = "graph"
NEIGHBOURS = 16
WIDTH_ADDING = 128  # candidates when a vector is added
WIDTH = 128  # fewest candidates in a search
WIDER = 2  # candidates per wanted result
AT_ONCE = 2048


def can_connect() -> bool:
    """Whether graphs can be built: usearch, the extra `ann`, is installed."""
    return importlib.util.find_spec("usearch") is not None


def _new(dimensions: int) -> Any:
    if not can_connect():
        raise MissingExtraError("approximate search", extra="ann")
    import onnxruntime  # noqa: F401 -- before usearch: loaded after it, it crashes (seen with 1.31 and 2.26)
    from usearch.index import Index

    return Index(
        ndim=dimensions, metric="cos", dtype="i8", connectivity=NEIGHBOURS, expansion_add=WIDTH_ADDING, multi=False
    )


class Graph:
    """A graph in a memory-mapped file of the vectors' own format."""

    def __init__(self, folder: Path, entry: FileEntry, dimensions: int) -> None:
        self._file = BlockFile(folder / entry.name, KIND, size=entry.size, checksum=entry.checksum)
        self.data = self._file[KIND].all()  # checked here: the library does not check its input
        self._graph = _new(dimensions)
        self._graph.view(self.data)
        self.rows = entry.rows
        if len(self._graph) != entry.rows:
            raise RankwellError(f"{self._file.path}: damaged: expected {entry.rows} vectors in the graph")

    def verify(self) -> None:
        """Check every byte of the file."""
        self._file.verify()

    def search(self, queries: QueryCodes, width: int, threads: int = 1) -> Iterator[Keys]:
        """The keys of about the `width` nearest vectors of each query."""
        count = min(width, self.rows)
        self._graph.expansion_search = max(width, WIDTH)
        asked = signed(queries.coarse)
        found = self._graph.search(asked, count, threads=threads)
        keys = np.atleast_2d(found.keys)
        sizes = np.atleast_1d(getattr(found, "counts", [keys.shape[1]]))
        for of_query, size in zip(keys, sizes.tolist(), strict=True):
            yield of_query[:size].astype(np.uint64)


def signed(coarse: npt.NDArray[np.int16]) -> npt.NDArray[np.int8]:
    """Coarse queries reduced to one byte per dimension."""
    largest = np.abs(coarse).max(axis=1, keepdims=True).astype(np.float32)
    return np.rint(coarse * (127 / np.where(largest > 0, largest, 1))).astype(np.int8)


def build_graph(
    path: Path, rows: Rows, chosen: Integers, before: Graph | None = None, progress: Progress = SILENT
) -> FileEntry:
    """Write a graph of these rows; with a graph from `before`, only missing rows are added.

    Vectors are added one after the other on one thread, so that the same vectors give the same graph.
    """
    graph = _new(rows.dimensions)
    keys = rows.keys[chosen]
    if before is not None:
        graph.load(before.data)
        known = np.asarray(graph.keys[:], dtype=np.uint64) if len(graph) else np.zeros(0, dtype=np.uint64)
        keep = ~np.isin(keys, known)
        chosen, keys = chosen[keep], keys[keep]
    if progress is not SILENT:
        progress.total = len(chosen)
    for start in range(0, len(chosen), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        graph.add(keys[part], rows.upper(chosen[part]), threads=1)
        progress.advance(len(keys[part]))
    with BlockWriter(path, KIND) as file:
        file.add(KIND, np.frombuffer(graph.save(), dtype=np.uint8))
        size, checksum = file.finish({"dimensions": rows.dimensions})
    return FileEntry(path.name, size, checksum, len(graph))
