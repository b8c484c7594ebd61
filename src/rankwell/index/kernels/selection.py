"""From candidates to the k best: drop those that are certainly beaten, and score the rest exactly."""

from __future__ import annotations

import numpy as np

from rankwell.index.blocks import LARGE, WINDOW, Array
from rankwell.index.kernels.types import (
    FULL,
    LOW,
    Arrays,
    KernelModel,
    Lines,
    compiled,
    keep_best,
    key_of,
    large_frequency,
    reached,
    score_of,
    whole,
)

# ruff: noqa: PLR0917 -- kernels take plain arrays, see the package


# The error of sums of impacts, besides `slack`: see RAISED.
LOWERED = 1.0 - 3e-5
# Rounding error of float32 sums of up to 64 lists, with a margin: sums are raised by this fraction.
RAISED = 1.0 + 1e-5
EXACT = 1.0 - 1e-6  # a float32 score may have been rounded up


@compiled
def longest(queries: Array) -> int:
    """The largest number of lines of a query; a loop compiles ten times as fast as numpy's functions."""
    most = 0
    for query in range(len(queries) - 1):
        most = max(most, whole(queries[query + 1] - queries[query]))
    return most


@compiled
def open_lists(
    lists: Array, first: int, size: int, rows: Array, cursors: Array, stops: Array, shifts: Array, units: Array,
    tops: Array,
) -> float:  # fmt: skip
    """Store positions and bounds of a query's lists; return the largest rounding-up of their impacts."""
    slack = 0.0
    for i in range(size):
        own = lists[first + i]
        rows[i], cursors[i] = own.row, own.documents
        stops[i], shifts[i] = own.documents + own.size, own.start - own.documents
        units[i] = own.weight * (RAISED / FULL)
        tops[i] = units[i] * np.float32(own.top)
        slack += own.weight / FULL
    return slack


@compiled
def rescore(
    arrays: Arrays, lines: Lines, model: KernelModel, windows: int, query: int, keys: Array, total: int, k: int,
    cell: Array, bits: Array,
) -> int:  # fmt: skip
    """Compute the candidates' exact scores (float64, summed in the order of the lines), and keep the k best."""
    docs16, docs32, directory, lengths = arrays.docs16, arrays.docs32, arrays.directory, arrays.lengths
    frequencies, large_at, large = arrays.frequencies, arrays.large_at, arrays.large
    k1, b = model.k1, model.b
    scores = np.zeros(total)
    for line in range(lines.queries[query], lines.queries[query + 1]):
        own = lines.lists[line]
        row, first, shift = own.row, own.documents, own.start - own.documents
        weight, space, stop = own.weight, own.space, first + own.size
        average = model.averages[space]
        for place in range(total):
            number = whole(LOW - (keys[place] & LOW))
            if row >= 0:
                corner = row * (windows + 1) + number // WINDOW
                end = whole(directory[corner + 1])
                at = reached(docs16, whole(directory[corner]), end, number % WINDOW)
                if at == end or whole(docs16[at]) != number % WINDOW:
                    continue
            else:
                at = reached(docs32, first, stop, number)
                if at == stop or whole(docs32[at]) != number:
                    continue
            frequency = whole(frequencies[at + shift])
            if frequency == LARGE:
                frequency = large_frequency(large_at, large, at + shift)
            tf = float(frequency)
            norm = k1 * (1 - b + b * float(lengths[space, number]) / average)
            scores[place] += weight * tf / (tf + norm)
    for place in range(total):
        keys[place] = key_of(scores[place], whole(LOW - (keys[place] & LOW)), cell, bits)
    if total > k:
        keep_best(keys, total, k)
        total = k
    return total


@compiled
def shrink(
    keys: Array, total: int, k: int, slack: float, threshold: float, cell: Array, bits: Array
) -> tuple[int, float]:
    """Drop candidates that k others certainly beat; return the number left, and the threshold for new ones."""
    keep_best(keys, total, k)
    threshold = max(threshold, score_of(keys[k - 1], cell, bits) * LOWERED - slack)
    least = key_of(threshold, 0xFFFFFFFF, cell, bits)
    kept = k
    for place in range(k, total):
        keys[kept] = keys[place]
        kept += keys[place] >= least
    return kept, threshold
