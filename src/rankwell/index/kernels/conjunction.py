"""AND: the best documents with all of a query's terms, each in any of the searched fields.

Window by window: the term with the fewest postings gives the candidates, the others are looked up, the next rarest
first; candidates without a term, or unable to reach the threshold, are dropped on the way.
"""

from __future__ import annotations

import numpy as np

from rankwell.index.blocks import WINDOW, Array
from rankwell.index.kernels.candidates import (
    accumulate,
    add_sums,
    clear,
    look_up,
    marked,
    narrowed,
    push,
    take_all,
    take_listed,
    take_single,
    unmasked,
)
from rankwell.index.kernels.exact import EXACT, longest, open_lists, rescore, shrink
from rankwell.index.kernels.types import Arrays, Impacts, KernelModel, Lines, Scope, compiled, reached, whole

# ruff: noqa: PLR0917, PLR0912, PLR0915, C901 -- one loop over windows whose steps share a dozen arrays


LONGER = 24
REWALK = 512  # so few postings are walked again to collect their documents; with more, the window is scanned


@compiled
def search_and(
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
    members, units, tops = np.zeros(most, np.int64), np.zeros(most, np.float32), np.zeros(most, np.float32)
    order, postings, gives = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.float64)
    sums = np.zeros(WINDOW, np.float32)
    sum_bits = sums.view(np.int32)
    candidates, scores = np.empty(WINDOW + 1, np.int32), np.empty(WINDOW + 1, np.float32)
    marks = np.zeros(WINDOW + 1, np.uint8)
    keys = np.empty(2 * k + 2 * WINDOW + 64, np.uint64)
    cell = np.zeros(1, np.float32)
    bits = cell.view(np.uint32)
    for query in range(len(lines.queries) - 1):
        first, size = lines.queries[query], lines.queries[query + 1] - lines.queries[query]
        groups = lines.lists[first + size - 1].group + 1
        threshold = float(thresholds[query]) * EXACT
        slack = open_lists(lines.lists, first, size, rows, cursors, stops, shifts, units, tops)
        driver = 0  # the rarest term
        for i in range(size):
            members[i] = lines.lists[first + i].group
            if lines.lists[first + i].size < lines.lists[first + driver].size:
                driver = i
        total, window = 0, -1
        while window + 1 < windows:
            window += 1
            if size == groups and rows[driver] < 0:  # skip to its next document
                if cursors[driver] >= stops[driver]:
                    break
                window = max(window, whole(docs32[cursors[driver]]) // WINDOW)
            base = window * WINDOW
            postings[:groups] = 0
            gives[:groups] = 0
            reachable = 0.0
            for i in range(size):
                if rows[i] >= 0:
                    at = rows[i] * width + window
                    starts[i], ends[i] = whole(directory[at]), whole(directory[at + 1])
                    bound = units[i] * np.float32(peaks[at - rows[i]])
                else:
                    starts[i] = reached(docs32, cursors[i], stops[i], base)
                    at = starts[i]
                    while at < stops[i] and whole(docs32[at]) < base + WINDOW:
                        at += 1
                    cursors[i] = ends[i] = at
                    bound = tops[i] if at > starts[i] else np.float32(0)
                postings[members[i]] += ends[i] - starts[i]
                gives[members[i]] += bound
                reachable += bound
            if reachable < threshold:
                continue
            lacking = False
            for group in range(groups):  # the shortest first
                lacking = lacking or postings[group] == 0
                place = group
                while place > 0 and postings[order[place - 1]] > postings[group]:
                    order[place] = order[place - 1]
                    place -= 1
                order[place] = group
            if lacking:
                continue
            rest = reachable - gives[order[0]]
            needed, lists, last, count, rising = (threshold - rest) * EXACT, 0, 0, 0, True
            for i in range(size):
                if members[i] == order[0] and ends[i] > starts[i]:
                    lists += 1
                    last = i
            if lists == 1 and rows[last] >= 0:
                count = take_single(
                    docs16, 0, worth, shifts[last], starts[last], ends[last], units[last], needed, candidates, scores
                )
            elif lists == 1:
                count = take_single(
                    docs32, base, worth, shifts[last], starts[last], ends[last], units[last], needed, candidates, scores
                )
            else:
                for i in range(size):
                    if members[i] == order[0] and rows[i] >= 0:
                        accumulate(docs16, 0, worth, shifts[i], starts[i], ends[i], units[i], sums)
                    elif members[i] == order[0]:
                        accumulate(docs32, base, worth, shifts[i], starts[i], ends[i], units[i], sums)
                if postings[order[0]] > REWALK:
                    count = take_all(needed, sums, sum_bits, candidates, scores, cell, bits)
                else:
                    rising = False
                    for i in range(size):
                        if members[i] == order[0] and rows[i] >= 0:
                            count = take_listed(docs16, 0, starts[i], ends[i], needed, sums, candidates, scores, count)
                        elif members[i] == order[0]:
                            count = take_listed(
                                docs32, base, starts[i], ends[i], needed, sums, candidates, scores, count
                            )
            if scope.masked:
                count = unmasked(scope.mask, base, candidates, scores, count)
            for place in range(1, groups):
                if count == 0:
                    break
                # Walking a list is fast, looking up a document in it is slow.
                walk = postings[order[place]] <= LONGER * count
                for i in range(size):
                    if members[i] != order[place]:
                        continue
                    if rows[i] >= 0 and walk:
                        accumulate(docs16, 0, worth, shifts[i], starts[i], ends[i], units[i], sums)
                    elif walk:
                        accumulate(docs32, base, worth, shifts[i], starts[i], ends[i], units[i], sums)
                    elif rows[i] >= 0:
                        look_up(
                            docs16, 0, worth, shifts[i], starts[i], ends[i], units[i], candidates, scores, marks,
                            count, rising,
                        )  # fmt: skip
                    else:
                        look_up(
                            docs32, base, worth, shifts[i], starts[i], ends[i], units[i], candidates, scores, marks,
                            count, rising,
                        )  # fmt: skip
                if not walk:
                    count = marked(candidates, scores, marks, count)
                else:
                    count = add_sums(sums, candidates, scores, count)
                    for i in range(size):
                        if members[i] == order[place] and rows[i] >= 0:
                            clear(docs16, 0, starts[i], ends[i], sums)
                        elif members[i] == order[place]:
                            clear(docs32, base, starts[i], ends[i], sums)
                rest -= gives[order[place]]
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
