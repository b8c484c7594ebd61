"""Impacts: what each posting is worth for one setting of k1 and b, worked out when its list is first searched.

An index keeps frequencies and lengths, so that k1 and b can be chosen per search. The price would be a division for
every posting of every query; instead each list's shares tf / (tf + norm) are kept in memory as 16-bit numbers once
they have been needed. The table is as long as the postings, but memory is taken only where lists have been prepared.
"""

from __future__ import annotations

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
RANKS = np.array([1, 3, 10, 30, 100, 300, 1000, 3000, 10000], dtype=np.int64)
FULL = 65535.0

QueryLines = Sequence[tuple[Line, int]]  # a query's lines in a segment, each with its list


class ImpactTable:
    """The impacts of a segment's postings for one k1 and b."""

    def __init__(self, segment: Segment, kernels: ModuleType, arrays: Arrays, model: Model) -> None:
        self._segment, self._kernels, self._arrays, self._model = segment, kernels, arrays, model
        rows = len(segment.file["frequent"])
        self.impacts = kernels.Impacts(
            np.zeros(len(segment.file["frequencies"]), dtype=np.uint16),
            np.zeros(rows * segment.windows, dtype=np.uint16),
        )
        self._tops: dict[int, int] = {}
        self._seeds: dict[int, list[float]] = {}

    def prepare(self, lists: Iterable[tuple[int, int]]) -> None:
        """Work the impacts of these lists out (list and space of each), where that has not been done."""
        fresh = [(number, space) for number, space in dict.fromkeys(lists) if number not in self._tops]
        if not fresh:
            return
        lines = flat(self._segment, self._kernels, [[(number, space, 0, 1.0, 0, 0.0) for number, space in fresh]])
        tops = np.zeros(len(fresh), dtype=np.int64)
        seeds = np.zeros((len(fresh), len(RANKS)))
        self._kernels.prepare(self._arrays, lines, self._model, self._segment.windows, self.impacts, RANKS, tops, seeds)
        for place, (number, _) in enumerate(fresh):
            self._tops[number] = int(tops[place])
            self._seeds[number] = (seeds[place] / FULL).tolist()

    def lines(self, queries: Sequence[QueryLines], k: int) -> Lines:
        """The lines of many queries as the kernels read them; their lists have been prepared."""
        step = int(np.searchsorted(RANKS, k))
        return flat(
            self._segment,
            self._kernels,
            [[self._row(line, number, step) for line, number in of_query] for of_query in queries],
        )

    def _row(self, line: Line, number: int, step: int) -> Row:
        seed = self._seeds[number][step] * line.weight if step < len(RANKS) else 0.0
        return number, self._segment.spaces[line.field], line.group, line.weight, self._tops[number], seed


Row = tuple[int, int, int, float, int, float]  # list, space, group, weight, top, seed


def flat(segment: Segment, kernels: ModuleType, queries: Sequence[Sequence[Row]]) -> Lines:
    """Columns out of rows."""
    place = segment.place
    rows = [row for of_query in queries for row in of_query]
    whole = [(*place(number), space, group, top) for number, space, group, _, top, _ in rows]
    starts, sizes, directory, documents, spaces, groups, tops = np.array(whole, dtype=np.int64).reshape(-1, 7).T.copy()
    weights, seeds = np.array([(row[3], row[5]) for row in rows]).reshape(-1, 2).T.copy()
    ends = np.array([0, *accumulate(map(len, queries))], dtype=np.int64)
    lines: Lines = kernels.Lines(ends, starts, sizes, directory, documents, spaces, groups, weights, tops, seeds)
    return lines
