"""Score every posting of every list, term at a time: for any weights, also negative ones, and any number of terms."""

from __future__ import annotations

import numpy as np

from rankwell.index.blocks import LARGE, WINDOW, Array
from rankwell.index.kernels.selection import longest
from rankwell.index.kernels.types import (
    Arrays,
    KernelModel,
    Lines,
    Scope,
    compiled,
    keep_best,
    key_of,
    large_frequency,
    whole,
)

# ruff: noqa: PLR0917, PLR0912, C901 -- one loop over windows whose steps share a dozen arrays


@compiled
def score_list(
    documents: Array, base: int, frequencies: Array, large_at: Array, large: Array, lengths: Array, shift: int,
    start: int, end: int, weight: float, k1: float, b: float, average: float, group: int,
    sums: Array, reached: Array,
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
            reached[local] = 1
        elif reached[local] == group:
            reached[local] += 1


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
    sums, reached = np.zeros(WINDOW, np.float64), np.zeros(WINDOW, np.int32)
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
                        start, cursors[i], own.weight, k1, b, averages[space], group, sums, reached,
                    )  # fmt: skip
                else:
                    stop = own.documents + own.size
                    while cursors[i] < stop and whole(docs32[cursors[i]]) < base + WINDOW:
                        cursors[i] += 1
                    score_list(
                        docs32, base, frequencies, large_at, large, lengths[space, base : base + limit], shift,
                        start, cursors[i], own.weight, k1, b, averages[space], group, sums, reached,
                    )  # fmt: skip
                touched = touched or cursors[i] > start
            if not touched:
                continue
            for local in range(limit):
                if reached[local] == wanted and (not masked or mask[base + local]):
                    key = key_of(sums[local], base + local, cell, bits)
                    if key > least:
                        keys[total] = key
                        total += 1
            sums[:] = 0
            reached[:] = 0
            if total > 2 * k:
                keep_best(keys, total, k)
                total, least = k, keys[k - 1]
        if total > k:
            keep_best(keys, total, k)
            total = k
        counts[query] = total
        for place in range(total):
            out[query, place] = keys[place]
