"""OR: the best documents with any of a query's terms.

Window by window: skipped where the lists' bounds together cannot reach the threshold. Else the lists are split as
in MaxScore: those whose bounds together stay below the threshold are not essential, and are only looked up for
documents from another list, the strongest first, while the candidates become fewer.
"""

from __future__ import annotations

import numpy as np

from rankwell.index.blocks import WINDOW, Array
from rankwell.index.kernels.candidates import (
    accumulate,
    look_up,
    narrowed,
    push,
    take_all,
    take_listed,
    take_single,
    unmasked,
)
from rankwell.index.kernels.exact import EXACT, longest, open_lists, rescore, shrink
from rankwell.index.kernels.types import Arrays, Impacts, KernelModel, Lines, Scope, compiled, whole

# ruff: noqa: PLR0917, PLR0912, PLR0915, C901 -- one loop over windows whose steps share a dozen arrays


LONGER = 16
REWALK = 256  # so few postings are walked again to collect their documents; with more, the window is scanned


@compiled
def search_or(
    arrays: Arrays, impacts: Impacts, lines: Lines, model: KernelModel, scope: Scope, windows: int,
    thresholds: Array, out: Array, counts: Array,
) -> None:  # fmt: skip
    """The k best documents of each query."""
    docs16, docs32, directory = arrays.docs16, arrays.docs32, arrays.directory
    worth, peaks = impacts.postings, impacts.windows
    k, width = scope.k, windows + 1
    most = longest(lines.queries)
    rows, shifts, cursors = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    stops, starts, ends = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    order, units, tops = np.zeros(most, np.int64), np.zeros(most, np.float32), np.zeros(most, np.float32)
    bounds = np.zeros(most, np.float32)
    sums = np.zeros(WINDOW, np.float32)
    sum_bits = sums.view(np.int32)
    candidates, scores = np.empty(WINDOW + 1, np.int32), np.empty(WINDOW + 1, np.float32)
    marks = np.zeros(WINDOW + 1, np.uint8)
    keys = np.empty(2 * k + 2 * WINDOW + 64, np.uint64)
    cell = np.zeros(1, np.float32)
    bits = cell.view(np.uint32)
    for query in range(len(lines.queries) - 1):
        first, size = lines.queries[query], lines.queries[query + 1] - lines.queries[query]
        threshold = float(thresholds[query]) * EXACT
        slack = open_lists(lines.lists, first, size, rows, cursors, stops, shifts, units, tops)
        if not scope.masked:
            for line in range(first, first + size):
                threshold = max(threshold, lines.lists[line].seed * EXACT)
        total = 0
        for window in range(windows):
            base = window * WINDOW
            # The part of each list in the window, and its bound. Rare lists are short there, and always walked;
            # the others are sorted by bound, the lowest first.
            reachable, listed, walked, postings, last = 0.0, 0, 0, 0, 0
            for i in range(size):
                if rows[i] >= 0:
                    at = rows[i] * width + window
                    starts[i], ends[i] = whole(directory[at]), whole(directory[at + 1])
                    if ends[i] == starts[i]:
                        continue
                    bound = units[i] * np.float32(peaks[at - rows[i]])
                    bounds[i] = bound
                    place = listed
                    while place > 0 and bounds[order[place - 1]] > bound:
                        order[place] = order[place - 1]
                        place -= 1
                    order[place] = i
                    listed += 1
                    reachable += bound
                else:
                    at = cursors[i]
                    starts[i] = at
                    while at < stops[i] and whole(docs32[at]) < base + WINDOW:
                        at += 1
                    cursors[i] = ends[i] = at
                    if at > starts[i]:
                        walked += 1
                        postings += at - starts[i]
                        last = i
                        reachable += tops[i]
            if reachable < threshold or (listed == 0 and walked == 0):
                continue
            spare, rest = 0, 0.0  # lists that are not essential, and their bounds
            while spare < listed and rest + bounds[order[spare]] < threshold:
                rest += bounds[order[spare]]
                spare += 1
            for place in range(spare, listed):
                last = order[place]
                walked += 1
                postings += ends[last] - starts[last]
            if walked == 0:
                continue
            # Walking a list is fast, looking up a document in it is slow: lists that are not much longer than the part
            # that is walked anyway are walked too.
            while spare > 0 and ends[order[spare - 1]] - starts[order[spare - 1]] <= LONGER * postings:
                spare -= 1
                last = order[spare]
                rest -= bounds[last]
                walked += 1
                postings += ends[last] - starts[last]
            needed, rising, count = (threshold - rest) * EXACT, True, 0
            if walked == 1 and rows[last] >= 0:
                count = take_single(
                    docs16, 0, worth, shifts[last], starts[last], ends[last], units[last], needed, candidates, scores
                )
            elif walked == 1:
                count = take_single(
                    docs32, base, worth, shifts[last], starts[last], ends[last], units[last], needed, candidates, scores
                )
            else:
                for i in range(size):
                    if rows[i] < 0:
                        accumulate(docs32, base, worth, shifts[i], starts[i], ends[i], units[i], sums)
                for place in range(spare, listed):
                    i = order[place]
                    accumulate(docs16, 0, worth, shifts[i], starts[i], ends[i], units[i], sums)
                if postings > REWALK:
                    count = take_all(needed, sums, sum_bits, candidates, scores, cell, bits)
                else:
                    rising = False
                    for i in range(size):
                        if rows[i] < 0:
                            count = take_listed(
                                docs32, base, starts[i], ends[i], needed, sums, candidates, scores, count
                            )
                    for place in range(spare, listed):
                        i = order[place]
                        count = take_listed(docs16, 0, starts[i], ends[i], needed, sums, candidates, scores, count)
            if scope.masked:
                count = unmasked(scope.mask, base, candidates, scores, count)
            while spare > 0 and count > 0:
                spare -= 1
                i = order[spare]
                look_up(
                    docs16, 0, worth, shifts[i], starts[i], ends[i], units[i], candidates, scores, marks, count, rising
                )
                rest -= bounds[i]
                # `rest` was added to and subtracted from: the test uses slightly less than the difference.
                count = narrowed(candidates, scores, count, (threshold - rest) * EXACT)
            total = push(keys, total, base, candidates, scores, count, cell, bits)
            if total > k + (k >> 1) + 16:
                total, threshold = shrink(keys, total, k, slack, threshold, cell, bits)
                if total > k + WINDOW:  # very many almost equal ones
                    total = rescore(arrays, lines, model, windows, query, keys, total, k, cell, bits)
        if total > k:
            total, threshold = shrink(keys, total, k, slack, threshold, cell, bits)
        total = rescore(arrays, lines, model, windows, query, keys, total, k, cell, bits)
        counts[query] = total
        for place in range(total):
            out[query, place] = keys[place]
