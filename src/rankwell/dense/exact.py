"""Exact search: the k best rows by dot product, found through their upper planes and scored by both.

A search of the upper planes is off by at most a bound, which each group of rows has (`quantise.bounds`). What it
finds, less the bound, is the least that a row's score can be; plus the bound, it is the most. Rows whose most is below
the k-th best least cannot be among the k best. The others, a few more than k, are scored with all 16 bits. Scores are
sums of whole numbers that float64 holds exactly, so they do not depend on batch, order, threads or processor; only at
the end they are rounded to 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from rankwell.core.arrays import Floats, Integers
from rankwell.dense.loading import kernels
from rankwell.dense.quantise import SHIFT, QueryCodes, bounds, query_codes
from rankwell.dense.rows import Piece, Rows

Allowed = npt.NDArray[np.bool_]
Found = tuple[Integers, Floats]  # rows that hold the k best (and perhaps some more), and their scores

# Loading the compiled kernels takes about a second; numpy gets through so many numbers in that time, in one search or
# in several.
WORTH_LOADING = 50_000_000
AT_ONCE = 4096  # rows that are scored at a time
FEW = 20  # rows are scored one by one where no more than one in so many is allowed
MEMORY = 1 << 24  # approximate scores that are held at a time
PORTION = 1 << 14  # rows that a thread takes at a time


def exact(rows: Rows, queries: Floats, k: int, allowed: Allowed | None, threads: int = 1) -> Iterator[Found]:
    """For each query the best rows among those that are allowed (None: all)."""
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
    """Score every one of these rows; without numba."""
    scores = np.zeros((len(queries), len(chosen)), dtype=np.float32)
    for start in range(0, len(chosen), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        scores[:, part] = scored(rows, queries, chosen[part])
    for of_query in scores:
        yield at_least(chosen, of_query, k)


def scanned(rows: Rows, queries: QueryCodes, k: int, allowed: Allowed | None, threads: int) -> Iterator[Found]:
    """Go through the upper planes, then score what may be among the k best."""
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
    """The scores of these rows, a line for each query."""
    codes, scales = rows.numbers(chosen)
    return ((queries.fine @ codes.T) * (queries.fine_scale[:, None] * scales)).astype(np.float32)


def at_least(rows: Integers, scores: Floats, k: int) -> Found:
    """The rows whose scores are not below the k-th best; more than k where some are equal."""
    if len(scores) > k:
        kept = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        return rows[kept], scores[kept]
    return rows, scores


def _least(rows: Rows, queries: QueryCodes, threads: int) -> Floats:
    """What each row's score is at least, by its upper plane; a line for each query."""
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
