"""Impacts: what each posting is worth for one setting of k1 and b, worked out when its list is first searched.

An index keeps frequencies and lengths, so that k1 and b can be chosen per search. The price would be a division for
every posting of every query; instead each list's shares tf / (tf + norm) are kept in memory as 16-bit numbers once
they have been needed. The table is as long as the postings, but memory is taken only where lists have been prepared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from rankwell.index.plan import Line
from rankwell.index.segment import Segment

if TYPE_CHECKING:
    from rankwell.index.kernels import Arrays, Lines, Model

# The ranks for which a list remembers which impact its documents reach: k is rounded up to one of them.
RANKS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
FULL = 65535.0

QueryLines = Sequence[tuple[Line, int]]  # a query's lines in a segment, each with its list
Head = tuple[int, int, int, int, int, int]  # where a list is (see `Place`), its space, its largest impact
Row = tuple[int, int, int, int, int, int, int, float, float]  # the same with group, weight and seed


class ImpactTable:
    """The impacts of a segment's postings for one k1 and b."""

    def __init__(self, segment: Segment, kernels: ModuleType, arrays: Arrays, model: Model) -> None:
        self._segment, self._kernels, self._arrays, self._model = segment, kernels, arrays, model
        rows = len(segment.file["frequent"])
        self.impacts = kernels.Impacts(
            np.zeros(len(segment.file["frequencies"]), dtype=np.uint16),
            np.zeros(rows * segment.windows, dtype=np.uint16),
        )
        self._known: dict[int, tuple[Head, list[float]]] = {}

    def prepare(self, lists: Iterable[tuple[int, int]]) -> None:
        """Work the impacts of these lists out (list and space of each), where that has not been done."""
        fresh = dict.fromkeys(chosen for chosen in lists if chosen[0] not in self._known)
        if not fresh:
            return
        places = [(*self._segment.place(number), space) for number, space in fresh]
        lines = flat(self._kernels, [[(*place, 0, 0, 1.0, 0.0) for place in places]])
        tops = np.zeros(len(fresh), dtype=np.int64)
        seeds = np.zeros((len(fresh), len(RANKS)))
        ranks = np.array(RANKS, dtype=np.int64)
        self._kernels.prepare(self._arrays, lines, self._model, self._segment.windows, self.impacts, ranks, tops, seeds)
        found = zip(fresh, places, tops.tolist(), (seeds / FULL).tolist(), strict=True)
        for (number, _), place, top, reached in found:
            self._known[number] = (*place, top), [*reached, 0.0]  # nothing is known beyond the last rank

    def lines(self, queries: Sequence[QueryLines], k: int) -> Lines:
        """The lines of many queries as the kernels read them; their lists have been prepared."""
        step = bisect_left(RANKS, k)
        known = self._known
        rows = []
        for of_query in queries:
            own = []
            for line, number in of_query:
                head, seeds = known[number]
                own.append((*head, line.group, line.weight, seeds[step] * line.weight))
            rows.append(own)
        return flat(self._kernels, rows)


def flat(kernels: ModuleType, queries: Sequence[Sequence[Row]]) -> Lines:
    """The rows of many queries as the kernels read them."""
    rows = [row for of_query in queries for row in of_query]
    ends = np.array([0, *accumulate(map(len, queries))], dtype=np.int64)
    lines: Lines = kernels.Lines(ends, np.array(rows, dtype=kernels.LIST))
    return lines
