"""Exact search: the k best rows by dot product, filtered by their upper planes and scored by both.

A search of the upper planes has an error of at most a bound, which each group of rows has (`quantise.bounds`). Its
result minus the bound is a lower bound of a row's score; plus the bound, an upper bound. Rows whose upper bound is
below the k-th best lower bound cannot be among the k best. The others, a few more than k, are scored with all 16
bits. Scores are sums of integers that float64 represents exactly, so they do not depend on batch, order, threads or
processor; only at the end they are rounded to 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from rankwell.core.arrays import Floats, Integers
from rankwell.core.kernels import Kernels, target_features
from rankwell.vectors.quantise import SHIFT, QueryCodes, bounds, query_codes
from rankwell.vectors.rows import Piece, Rows

kernels = Kernels("rankwell.vectors.kernels")

# Processor features that each kernel needs, by LLVM's names; the fastest kernel first.
FEATURES: Mapping[str, frozenset[str]] = MappingProxyType(
    {"vnni": frozenset({"avx512f", "avx512vnni"}), "avx2": frozenset({"avx2"}), "plain": frozenset()}
)


def runnable_kernels() -> list[str]:
    """The kernels that the processor supports, the fastest first: a search uses the first one.

    It is the processor that numba compiles for: this one, unless NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name another.
    """
    there = target_features()
    return [name for name, needed in FEATURES.items() if needed <= there]


Allowed = npt.NDArray[np.bool_]
Found = tuple[Integers, Floats]  # rows with the k best (and perhaps some more), and their scores

# Loading the compiled kernels takes about a second; numpy processes this many numbers in that time, in one search or
# in several.
WORTH_LOADING = 50_000_000
AT_ONCE = 4096  # rows scored at once
FEW = 20  # rows are scored one by one where at most one in this many is allowed
MEMORY = 1 << 24  # approximate scores in memory at once
PORTION = 1 << 14  # rows per task of a thread


def exact(rows: Rows, queries: Floats, k: int, allowed: Allowed | None, threads: int = 1) -> Iterator[Found]:
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


def scanned(rows: Rows, queries: QueryCodes, k: int, allowed: Allowed | None, threads: int) -> Iterator[Found]:
    """Scan the upper planes, then score the candidates for the k best."""
    together = max(1, MEMORY // rows.count)
    for start in range(0, len(queries), together):
        part = queries.part(start, start + together)
        margins = [2 * bounds(part, piece.group) for piece in rows.pieces]
        for place, least in enumerate(_least(rows, part, threads)):
            if allowed is not None:
                least[~allowed] = -np.inf
            threshold = np.partition(least, len(least) - k)[len(least) - k]
            found = [
                piece.start + np.flatnonzero(least[piece.start : piece.end] >= threshold - margin[place])
                for piece, margin in zip(rows.pieces, margins, strict=True)
            ]
            candidates = np.concatenate(found)
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
