"""Exact scores: of every posting of every list, or only of the candidates that pruning leaves."""

from __future__ import annotations

import numpy as np

from rankwell.index.blocks import LARGE, WINDOW, Array
from rankwell.index.kernels.types import (
    FULL,
    LOW,
    Arrays,
    KernelModel,
    Lines,
    Scope,
    compiled,
    keep_best,
    key_of,
    large_frequency,
    reached,
    score_of,
    whole,
)

# ruff: noqa: PLR0917, PLR0912, C901 -- kernels take plain arrays, see the package; one loop over windows


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


@compiled
def score_list(
    documents: Array, base: int, frequencies: Array, large_at: Array, large: Array, lengths: Array, shift: int,
    start: int, end: int, weight: float, k1: float, b: float, average: float, group: int,
    sums: Array, matched: Array,
) -> None:  # fmt: skip
    """Add a list's part of a window to the sums. `group` -1: any term suffices, else earlier groups must match too."""
    for at in range(start, end):
        local = whole(documents[at]) - base
        frequency = whole(frequencies[at + shift])
        if frequency == LARGE:
            frequency = large_frequency(large_at, large, at + shift)
        tf = float(frequency)
        sums[local] += weight * tf / (tf + k1 * (1 - b + b * float(lengths[local]) / average))
        if group < 0:
            matched[local] = 1
        elif matched[local] == group:
            matched[local] += 1


@compiled
def search_all(
    arrays: Arrays, lines: Lines, model: KernelModel, scope: Scope, windows: int, every: bool, out: Array, counts: Array
) -> None:
    """The k best documents of each query, with any or with every one of its terms."""
    docs16, docs32, directory, lengths = arrays.docs16, arrays.docs32, arrays.directory, arrays.lengths
    frequencies, large_at, large = arrays.frequencies, arrays.large_at, arrays.large
    k1, b, averages = model.k1, model.b, model.averages
    masked, mask, k = scope.masked, scope.mask, scope.k
    cursors = np.zeros(longest(lines.queries), np.int64)
    sums, matched = np.zeros(WINDOW, np.float64), np.zeros(WINDOW, np.int32)
    keys = np.empty(2 * k + 2 * WINDOW + 64, np.uint64)
    cell = np.zeros(1, np.float32)
    bits = cell.view(np.uint32)
    for query in range(len(lines.queries) - 1):
        first, end = lines.queries[query], lines.queries[query + 1]
        for line in range(first, end):
            cursors[line - first] = lines.lists[line].documents
        wanted = lines.lists[end - 1].group + 1 if every else 1
        total, least = 0, np.uint64(0)
        for window in range(windows):
            base, touched = window * WINDOW, False
            limit = min(WINDOW, scope.documents - base)
            for line in range(first, end):
                own = lines.lists[line]
                i, row, space = line - first, own.row, own.space
                shift, group = own.start - own.documents, own.group if every else -1
                start = cursors[i]
                if row >= 0:
                    cursors[i] = whole(directory[row * (windows + 1) + window + 1])
                    score_list(
                        docs16, 0, frequencies, large_at, large, lengths[space, base : base + limit], shift,
                        start, cursors[i], own.weight, k1, b, averages[space], group, sums, matched,
                    )  # fmt: skip
                else:
                    stop = own.documents + own.size
                    while cursors[i] < stop and whole(docs32[cursors[i]]) < base + WINDOW:
                        cursors[i] += 1
                    score_list(
                        docs32, base, frequencies, large_at, large, lengths[space, base : base + limit], shift,
                        start, cursors[i], own.weight, k1, b, averages[space], group, sums, matched,
                    )  # fmt: skip
                touched = touched or cursors[i] > start
            if not touched:
                continue
            for local in range(limit):
                if matched[local] == wanted and (not masked or mask[base + local]):
                    key = key_of(sums[local], base + local, cell, bits)
                    if key > least:
                        keys[total] = key
                        total += 1
            sums[:] = 0
            matched[:] = 0
            if total > 2 * k:
                keep_best(keys, total, k)
                total, least = k, keys[k - 1]
        if total > k:
            keep_best(keys, total, k)
            total = k
        counts[query] = total
        for place in range(total):
            out[query, place] = keys[place]
