"""From candidates to the k best: dropping what is beaten for certain, and scoring the rest exactly."""

# ruff: noqa: PLR0917 -- kernels take plain arrays, see the package

from __future__ import annotations

import numpy as np

from rankwell.index.kernels.impacts import FULL
from rankwell.index.kernels.keys import LOW, keep_best, key_of, score_of
from rankwell.index.kernels.postings import large_frequency, reached
from rankwell.index.kernels.types import Arrays, Lines, Model, compiled, whole
from rankwell.index.layout import LARGE, WINDOW, Array

# What sums of impacts may be too high by, besides `slack`: see RAISED.
LOWERED = 1.0 - 3e-5
# Rounding of float32 sums of up to 64 lists, with room to spare: sums are raised by this share.
RAISED = 1.0 + 1e-5
EXACT = 1.0 - 1e-6  # a float32 score may have been rounded up


@compiled
def longest(queries: Array) -> int:
    """The most lines that a query has; a loop compiles in a tenth of the time that numpy's functions take."""
    most = 0
    for query in range(len(queries) - 1):
        most = max(most, whole(queries[query + 1] - queries[query]))
    return most


@compiled
def open_lists(
    lists: Array, first: int, size: int, rows: Array, cursors: Array, stops: Array, shifts: Array, units: Array,
    tops: Array,
) -> float:  # fmt: skip
    """Set down where the lists of a query are and what they give; by how much their impacts were rounded up at most."""
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
    arrays: Arrays, lines: Lines, model: Model, windows: int, query: int, keys: Array, total: int, k: int,
    cell: Array, bits: Array,
) -> int:  # fmt: skip
    """Give the candidates their exact scores (float64, summed in the order of the lines), keep the k best of them."""
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
    """Drop candidates that k others beat for certain; how many are left, and the threshold that new ones must reach."""
    keep_best(keys, total, k)
    threshold = max(threshold, score_of(keys[k - 1], cell, bits) * LOWERED - slack)
    least = key_of(threshold, 0xFFFFFFFF, cell, bits)
    kept = k
    for place in range(k, total):
        keys[kept] = keys[place]
        kept += keys[place] >= least
    return kept, threshold
