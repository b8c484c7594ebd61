"""Input types and compilation of the kernels; documents with their scores as sortable numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

from rankwell.index.blocks import LARGE, WINDOW, Array

# A posting list and its part in a query.
LIST = np.dtype(
    [
        ("start", np.int64),  # first posting
        ("size", np.int64),
        ("row", np.int64),  # row in the directory; -1 for a rare list
        ("documents", np.int64),  # first document in docs16 or docs32
        ("space", np.int64),
        ("top", np.int64),  # the largest impact of the list
        ("group", np.int64),
        ("weight", np.float64),
        ("seed", np.float64),  # a score that k documents reach by this list alone, or 0
    ]
)

F = TypeVar("F", bound=Callable[..., Any])

# Always signed: numba's `int` keeps unsigned numbers, which become floats beside signed ones.
whole: Callable[[Any], int] = cast("Any", np.int64)


class Arrays(NamedTuple):
    """The sections of a segment that scoring reads."""

    docs16: Array
    docs32: Array
    frequencies: Array
    large_at: Array
    large: Array
    directory: Array
    lengths: Array


class Impacts(NamedTuple):
    """The impacts of all postings (of prepared lists), and the largest in each window."""

    postings: Array
    windows: Array


class Lines(NamedTuple):
    """The posting lists of many queries: those of query i are at `queries[i]` to `queries[i + 1]` (exclusive)."""

    queries: Array
    lists: Array  # of LIST


class KernelModel(NamedTuple):
    """BM25's parameters, and the average length of each space."""

    k1: float
    b: float
    averages: Array


class Scope(NamedTuple):
    """The allowed documents, and the number of results."""

    documents: int
    masked: bool
    mask: Array
    k: int


def compiled(function: F) -> F:
    """Compile without the GIL, and cache the result on the disk."""
    return cast("F", numba.njit(nogil=True, cache=True, error_model="numpy")(function))


POSITIVE = np.uint64(1 << 31)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@compiled
def key_of(score: float, number: int, cell: Array, bits: Array) -> np.uint64:
    """The score as float32, then the document number, smaller first. `bits` are those of `cell`, a float32."""
    cell[0] = np.float32(score) + np.float32(0)  # -0.0 becomes 0.0, its equal
    high = np.uint64(bits[0])
    high = high ^ POSITIVE if high < POSITIVE else high ^ LOW
    return (high << HALF) | (LOW - np.uint64(number))


@compiled
def score_of(key: np.uint64, cell: Array, bits: Array) -> float:
    """The score of a key."""
    high = key >> HALF
    bits[0] = high ^ POSITIVE if high >= POSITIVE else high ^ LOW
    return float(cell[0])


@compiled
def keep_best(keys: Array, count: int, k: int) -> None:
    """Move the k largest of the first `count` keys to the front, with the k-th in its place."""
    low, high = 0, count - 1
    while low < high:
        pivot = keys[(low + high) >> 1]
        left, right = low, high
        while left <= right:
            while keys[left] > pivot:
                left += 1
            while keys[right] < pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
                right -= 1
        if k - 1 <= right:
            high = right
        elif k - 1 >= left:
            low = left
        else:
            return


@compiled
def decode(keys: Array, counts: Array, documents: Array, scores: Array) -> None:
    """Documents and scores from the keys of each query, which are sorted with the best at the end."""
    cell = np.zeros(1, np.float32)
    bits = cell.view(np.uint32)
    last = keys.shape[1] - 1
    for query in range(len(counts)):
        for place in range(counts[query]):
            key = keys[query, last - place]
            documents[query, place] = whole(LOW - (key & LOW))
            scores[query, place] = score_of(key, cell, bits)


@compiled
def reached(documents: Array, low: int, high: int, wanted: int) -> int:
    """The first position from `low` to `high` (exclusive) whose document is not below the wanted one.

    Written without branches: the position is unpredictable, and a misprediction is expensive.
    """
    size = high - low
    while size > 0:
        half = (size + 1) >> 1
        low += half if whole(documents[low + half - 1]) < wanted else 0
        size -= half
    return low


@compiled
def large_frequency(large_at: Array, large: Array, posting: int) -> int:
    """The frequency of a term in a document, where it does not fit into a byte.

    Callers check the byte themselves: this call for every posting would cost more than the rest of their work.
    """
    return whole(large[reached(large_at, 0, len(large_at), posting)])


# ruff: noqa: PLR0917 -- kernels take plain arrays, see the package


FULL = 65535.0  # the impact 1.0
BINS = 1024
BIN_SHIFT = 6


@compiled
def prepare(
    arrays: Arrays,
    lines: Lines,
    model: KernelModel,
    windows: int,
    impacts: Impacts,
    ranks: Array,
    tops: Array,
    seeds: Array,
) -> None:
    """Compute the impacts of lists; for each the largest, and lower bounds of the impacts at some ranks."""
    docs16, docs32, directory, lengths = arrays.docs16, arrays.docs32, arrays.directory, arrays.lengths
    frequencies, large_at, large = arrays.frequencies, arrays.large_at, arrays.large
    k1, b, averages = model.k1, model.b, model.averages
    bins = np.zeros(BINS, dtype=np.int64)
    for line in range(len(lines.lists)):
        bins[:] = 0
        own = lines.lists[line]
        row, space, first = own.row, own.space, own.documents
        shift = own.start - first
        average, top, window = averages[space], 0, -1
        base, end = 0, first  # the window and its end
        for at in range(first, first + own.size):
            while row >= 0 and at >= end:
                window += 1
                base = window * WINDOW
                end = whole(directory[row * (windows + 1) + window + 1])
            number = base + whole(docs16[at]) if row >= 0 else whole(docs32[at])
            frequency = whole(frequencies[at + shift])
            if frequency == LARGE:
                frequency = large_frequency(large_at, large, at + shift)
            tf = float(frequency)
            part = FULL * tf / (tf + k1 * (1 - b + b * float(lengths[space, number]) / average))
            impact = whole(part)
            if impact < part:
                impact += 1
            impacts.postings[at + shift] = impact
            bins[impact >> BIN_SHIFT] += 1
            top = max(top, impact)
            if row >= 0 and impact > impacts.windows[row * windows + window]:
                impacts.windows[row * windows + window] = impact
        tops[line] = top
        count, place = 0, BINS - 1
        for step in range(len(ranks)):
            while place >= 0 and count + bins[place] < ranks[step]:
                count += bins[place]
                place -= 1
            seeds[line, step] = max(0, (place << BIN_SHIFT) - 1) if place >= 0 else 0
