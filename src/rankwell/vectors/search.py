"""The k nearest rows: exactly, or approximately by a graph.

Exact search filters rows by their upper planes, and scores them by both. A search of the upper planes has an error of
at most a bound, which each group of rows has (`quantise.bounds`). Its result minus the bound is a lower bound of a
row's score; plus the bound, an upper bound. Rows whose upper bound is below the k-th best lower bound cannot be among
the k best. The others, a few more than k, are scored with all 16 bits. Scores are sums of integers that float64
represents exactly, so they do not depend on batch, order, threads or processor; at the end they are rounded to 32 bits.

The graph of near neighbours (HNSW) is built and searched by usearch. It holds the upper planes of the vectors (8-bit
numbers) by the keys of their documents, so that files of vectors can be merged without changing it. Its results are
scored again with all 16 bits. Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
Hierarchical Navigable Small World graphs", IEEE PAMI 2020.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from rankwell.core import SILENT, Booleans, Floats, Integers, MissingExtraError, Progress, RankwellError
from rankwell.core.kernels import Kernels, target_features
from rankwell.index import Hits, Mask
from rankwell.index.blocks import BlockFile, BlockWriter
from rankwell.index.compiled import kernels as search_kernels
from rankwell.index.warming import warm_search
from rankwell.vectors.quantise import SHIFT, QueryCodes, bounds, query_codes, unit
from rankwell.vectors.rows import INT16, FileEntry, Keys, Manifest, Piece, Rows, write_chunk

kernels = Kernels("rankwell.vectors.kernels")

# Processor features that each kernel needs, by LLVM's names; the fastest kernel first.
FEATURES: Mapping[str, frozenset[str]] = {
    "vnni": frozenset({"avx512f", "avx512vnni"}),
    "avx2": frozenset({"avx2"}),
    "plain": frozenset(),
}


def runnable_kernels() -> list[str]:
    """The kernels that the processor supports, the fastest first: a search uses the first one.

    It is the processor that numba compiles for: this one, unless NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name another.
    """
    there = target_features()
    return [name for name, needed in FEATURES.items() if needed <= there]


Found = tuple[Integers, Floats]  # rows with the k best (and perhaps some more), and their scores

# Loading the compiled kernels takes about a second; numpy processes this many numbers in that time, in one search or
# in several.
WORTH_LOADING = 50_000_000
AT_ONCE = 4096  # rows scored at once
FEW = 20  # rows are scored one by one where at most one in this many is allowed
MEMORY = 1 << 24  # approximate scores in memory at once
PORTION = 1 << 14  # rows per task of a thread
WARM_ROWS, WARM_DIMENSIONS = 4, 100
EXACT, HNSW = METHODS = ("exact", "hnsw")


class Encoder(Protocol):
    """Makes vectors of texts, as `rankwell.models.base.TextEncoder` does."""

    model: str
    dimensions: int

    def encode(self, texts: list[str], progress: Progress = SILENT) -> Floats:
        """One row per text, encoded as a document."""

    def encode_queries(self, texts: list[str]) -> Floats:
        """One row per query."""

    def fingerprint(self) -> str:
        """A fingerprint of everything that affects a vector besides the text."""


class Vectors(Protocol):
    """The vectors of an index as stages use them, wherever they are; `Embeddings` are those in its folder."""

    name: str
    model: str
    dimensions: int
    connected: bool  # whether there is a graph for approximate search

    @property
    def count(self) -> int:
        """Number of live documents with a vector."""

    def fingerprint(self) -> str:
        """A fingerprint of these vectors of this index."""

    def info(self) -> dict[str, Any]:
        """Facts about the vectors, for display."""

    def encoder(self) -> Encoder:
        """The encoder that made the vectors; raises where it has changed since."""

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
        """The k documents most similar to each query (a row of numbers), by cosine."""


@runtime_checkable
class KeepsVectors(Protocol):
    """An index that stores its vectors itself, as one in a database does."""

    def vectors(self) -> Mapping[str, Vectors]:
        """The vectors by name."""


def exact(rows: Rows, queries: Floats, k: int, allowed: Booleans | None, threads: int = 1) -> Iterator[Found]:
    """For each query the best allowed rows (None: all are allowed)."""
    codes = query_codes(queries)
    count = rows.count if allowed is None else int(allowed.sum())
    rows.looked_at += count * rows.dimensions * len(queries)
    worth_loading = rows.looked_at >= WORTH_LOADING and not kernels.reserved
    if count <= max(k, rows.count // FEW) or not (kernels.loaded or worth_loading):
        chosen = np.arange(rows.count) if allowed is None else np.flatnonzero(allowed)
        yield from exhaustive(rows, codes, chosen, k)
    else:
        yield from scanned(rows, codes, k, allowed, threads)


def exhaustive(rows: Rows, queries: QueryCodes, chosen: Integers, k: int) -> Iterator[Found]:
    """Score each of these rows, without numba."""
    scores = np.zeros((len(queries), len(chosen)), dtype=np.float32)
    for start in range(0, len(chosen), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        scores[:, part] = scored(rows, queries, chosen[part])
    for of_query in scores:
        yield at_least(chosen, of_query, k)


def scanned(rows: Rows, queries: QueryCodes, k: int, allowed: Booleans | None, threads: int) -> Iterator[Found]:
    """Scan the upper planes, then score the candidates for the k best."""
    together = max(1, MEMORY // rows.count)
    for start in range(0, len(queries), together):
        part = queries.part(start, start + together)
        margins = [2 * bounds(part, piece.group) for piece in rows.pieces]
        for place, least in enumerate(_least(rows, part, threads)):
            if allowed is not None:
                least[~allowed] = -np.inf
            threshold = np.partition(least, len(least) - k)[len(least) - k]
            near = [
                piece.start + np.flatnonzero(least[piece.start : piece.end] >= threshold - margin[place])
                for piece, margin in zip(rows.pieces, margins, strict=True)
            ]
            candidates = np.concatenate(near)
            yield at_least(candidates, scored(rows, part.part(place, place + 1), candidates)[0], k)


def scored(rows: Rows, queries: QueryCodes, chosen: Integers) -> Floats:
    """The scores of these rows, one line per query."""
    codes, scales = rows.numbers(chosen)
    return ((queries.fine @ codes.T) * (queries.fine_scale[:, None] * scales)).astype(np.float32)


def at_least(rows: Integers, scores: Floats, k: int) -> Found:
    """The rows with at least the k-th best score; more than k with ties."""
    if len(scores) > k:
        kept = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        return rows[kept], scores[kept]
    return rows, scores


def _least(rows: Rows, queries: QueryCodes, threads: int) -> Floats:
    """Lower bounds of the rows' scores by the upper plane; one line per query."""
    compiled = kernels()
    out = np.empty((len(queries), rows.count), dtype=np.float32)
    coarse = np.ascontiguousarray(queries.coarse)
    whole = coarse.shape[1] - coarse.shape[1] % compiled.WIDE
    upper = (coarse[:, :whole].astype(np.int32) + SHIFT) >> 8
    lower = coarse[:, :whole] - (upper << 8)
    planes = np.stack([upper, lower], axis=1).astype(np.int8).reshape(-1)
    shifts = SHIFT * coarse.sum(axis=1, dtype=np.int64)

    def run(job: tuple[Piece, int, int]) -> None:
        piece, first, end = job
        scales = queries.coarse_scale * (piece.group.scale * 256)
        errors = bounds(queries, piece.group)
        compiled.scan(piece.high.reshape(-1), coarse, planes, shifts, scales, errors, first, end, piece.start, out)

    jobs = [
        (piece, first, min(first + PORTION, piece.group.rows))
        for piece in rows.pieces
        for first in range(0, piece.group.rows, PORTION)
    ]
    if threads == 1:
        for job in jobs:
            run(job)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run, jobs))
    return out


GRAPH = "graph"
NEIGHBOURS = 16
WIDTH_ADDING = 128  # candidates when a vector is added
WIDTH = 128  # fewest candidates in a search
WIDER = 2  # candidates per wanted result
MOSTLY = 0.5  # the least fraction of allowed vectors for which the graph is searched
ADDED = 2048  # vectors added at once


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
        self._file = BlockFile(folder / entry.name, GRAPH, size=entry.size, checksum=entry.checksum)
        self.data = self._file[GRAPH].all()  # checked here: the library does not check its input
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
        matches = self._graph.search(signed(queries.coarse), count, threads=threads)
        keys = np.atleast_2d(matches.keys)
        sizes = np.atleast_1d(getattr(matches, "counts", [keys.shape[1]]))
        for of_query, size in zip(keys, sizes.tolist(), strict=True):
            yield of_query[:size].astype(np.uint64)


def signed(coarse: npt.NDArray[np.int16]) -> npt.NDArray[np.int8]:
    """Coarse queries reduced to one byte per dimension."""
    largest = np.abs(coarse).max(axis=1, keepdims=True).astype(np.float32)
    return np.rint(coarse * (127 / np.where(largest > 0, largest, 1))).astype(np.int8)


def near(
    rows: Rows, graph: Graph, queries: Floats, k: int, allowed: Booleans, *, width: int | None, threads: int
) -> Iterator[Found]:
    """Search by the graph; exactly, where too few of its vectors are allowed or allowed ones are missing in it."""
    wanted = int(allowed.sum())
    if wanted < MOSTLY * graph.rows or k >= wanted:
        yield from exact(rows, queries, k, allowed, threads)
        return
    codes, wider = query_codes(queries), int((width or max(WIDTH, WIDER * k)) * graph.rows / wanted)
    for place, keys in enumerate(graph.search(codes, wider, threads)):
        candidates = rows.find(keys)
        candidates = candidates[(candidates >= 0) & allowed[candidates]]
        if len(candidates) < k:
            yield from exact(rows, queries[place : place + 1], k, allowed, threads)
        else:
            yield at_least(candidates, scored(rows, codes.part(place, place + 1), candidates)[0], k)


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
    for start in range(0, len(chosen), ADDED):
        part = slice(start, start + ADDED)
        graph.add(keys[part], rows.upper(chosen[part]), threads=1)
        progress.advance(len(keys[part]))
    with BlockWriter(path, GRAPH) as file:
        file.add(GRAPH, np.frombuffer(graph.save(), dtype=np.uint8))
        size, checksum = file.finish({"dimensions": rows.dimensions})
    return FileEntry(path.name, size, checksum, len(graph))


def warm_vectors() -> None:
    """Load or compile the kernel of exact vector search, by searching a few vectors."""
    vectors = unit(np.random.default_rng(0).standard_normal((WARM_ROWS, WARM_DIMENSIONS)).astype(np.float32))
    with kernels.reserve(), tempfile.TemporaryDirectory() as folder:
        kernels()
        chunk = write_chunk(Path(folder) / "few", np.arange(1, WARM_ROWS + 1, dtype=np.uint64), vectors, INT16)
        rows = Rows(Path(folder), Manifest("warming", {}, "warming", WARM_DIMENSIONS, chunks=(chunk,)))
        list(scanned(rows, query_codes(vectors[:2]), 1, None, threads=1))
        kernels.mark_complete()


# All groups of kernels that searches use, with the function that loads or compiles each.
KERNELS: Mapping[str, tuple[Kernels, Callable[[], None]]] = {
    "search": (search_kernels, warm_search),
    "vectors": (kernels, warm_vectors),
}


def warm() -> None:
    """Load or compile all kernels: afterwards no search on this machine compiles anything."""
    for _, make_ready in KERNELS.values():
        make_ready()
