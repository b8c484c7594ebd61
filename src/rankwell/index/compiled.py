"""Searching a segment with the compiled kernels: what they need of it, and what they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from rankwell.index.impacts import ImpactTable, QueryLines, flat
from rankwell.index.layout import Array
from rankwell.index.loading import kernels
from rankwell.index.plan import Plan
from rankwell.index.scoring import Scoring
from rankwell.index.segment import Segment

if TYPE_CHECKING:
    from rankwell.index.kernels import Arrays, Model, Scope

MOST_LINES = 64  # beyond it, the rounding of sums could hide more than the kernels allow for
TABLES = 2  # settings of k1 and b whose impacts are kept
LARGE_K = 0.25  # with a k beyond this share of the documents there is nothing to prune
BATCH = 256  # queries that a thread takes at a time

Found = tuple[Array, Array]
NOTHING: Found = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))


class Compiled:
    """Searches the segment that stands at a place in the index."""

    def __init__(self, segment: Segment, place: int) -> None:
        self._segment, self._place = segment, place
        self._tables: dict[tuple[float, float], ImpactTable] = {}
        self._checked: set[int] = set()

    def search(
        self,
        plans: Sequence[Plan],
        k: int,
        scoring: Scoring,
        averages: Mapping[str, float],
        mask: Array | None,
        thresholds: Array,
        *,
        prune: bool,
        threads: int,
    ) -> list[Found]:
        """The k best documents of each query with their scores, best first."""
        every = scoring.match == "and"
        lines = [self._lines(plan, every=every) for plan in plans]
        model = self._model(scoring, averages)
        allowed = np.zeros(0, dtype=np.bool_) if mask is None else np.ascontiguousarray(mask)
        scope = self._kernels.Scope(self._segment.documents, mask is not None, allowed, k)
        prune = prune and k < LARGE_K * self._segment.documents
        pruned = [query for query, own in enumerate(lines) if own and prune and _is_prunable(own)]
        others = sorted({query for query, own in enumerate(lines) if own}.difference(pruned))
        if pruned:
            self._prepare(scoring, model, [line for query in pruned for line in lines[query]])
        jobs = [
            *(
                partial(self._pruned, part, lines, scope, scoring, model, thresholds)
                for part in _parts(pruned, threads)
            ),
            *(partial(self._complete, part, lines, scope, model, every=every) for part in _parts(others, threads)),
        ]
        out = [NOTHING] * len(plans)
        with ThreadPoolExecutor(threads) if threads > 1 and len(jobs) > 1 else _Here() as pool:
            for found in pool.map(lambda job: job(), jobs):
                for query, result in found:
                    out[query] = result
        return out

    def _lines(self, plan: Plan, *, every: bool) -> QueryLines:
        """A query's lists in this segment; none where a term that must be there is not."""
        found = [(line, number) for line in plan.lines if (number := line.lists[self._place]) is not None]
        if every and len({line.group for line, _ in found}) < plan.groups:
            return []
        for _, number in found:
            if number not in self._checked:
                self._segment.check_list(number)
                self._checked.add(number)
        return found

    def _prepare(self, scoring: Scoring, model: Model, lines: QueryLines) -> None:
        setting = (scoring.k1, scoring.b)
        table = self._tables.pop(setting, None) or ImpactTable(self._segment, self._kernels, self._arrays, model)
        self._tables[setting] = table
        while len(self._tables) > TABLES:
            del self._tables[next(iter(self._tables))]
        table.prepare((number, self._segment.spaces[line.field]) for line, number in lines)

    def _pruned(
        self,
        queries: Sequence[int],
        lines: Sequence[QueryLines],
        scope: Scope,
        scoring: Scoring,
        model: Model,
        thresholds: Array,
    ) -> list[tuple[int, Found]]:
        table = self._tables[scoring.k1, scoring.b]
        own = table.lines([lines[query] for query in queries], scope.k)
        keys, counts = _empty(len(queries), scope.k)
        search = self._kernels.search_and if scoring.match == "and" else self._kernels.search_or
        windows = self._segment.windows
        search(self._arrays, table.impacts, own, model, scope, windows, thresholds[queries], keys, counts)
        return list(zip(queries, _decoded(keys, counts), strict=True))

    def _complete(
        self, queries: Sequence[int], lines: Sequence[QueryLines], scope: Scope, model: Model, *, every: bool
    ) -> list[tuple[int, Found]]:
        spaces = self._segment.spaces
        rows = [
            [(number, spaces[line.field], line.group, line.weight, 0, 0.0) for line, number in lines[query]]
            for query in queries
        ]
        own = flat(self._segment, self._kernels, rows)
        keys, counts = _empty(len(queries), scope.k)
        self._kernels.search_all(self._arrays, own, model, scope, self._segment.windows, every, keys, counts)
        return list(zip(queries, _decoded(keys, counts), strict=True))

    def _model(self, scoring: Scoring, averages: Mapping[str, float]) -> Model:
        spaces = self._segment.spaces
        of_space = np.ones(max(spaces.values()) + 1)
        for name, space in spaces.items():
            if not (name and space == spaces[""] and "" in averages and len(averages) > len(spaces)):
                of_space[space] = averages[name]
        model: Model = self._kernels.Model(float(scoring.k1), float(scoring.b), of_space)
        return model

    @cached_property
    def _kernels(self) -> ModuleType:
        return kernels()

    @cached_property
    def _arrays(self) -> Arrays:
        file = self._segment.file
        large = file["large_at"].all(), file["large"].all()
        documents = file["docs16"].unchecked, file["docs32"].unchecked
        frequencies, directory = file["frequencies"].unchecked, file["directory"].unchecked
        arrays: Arrays = self._kernels.Arrays(*documents, frequencies, *large, directory, self._segment.lengths)
        return arrays


class _Here:
    """A pool without threads."""

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    map = staticmethod(map)


def _is_prunable(lines: QueryLines) -> bool:
    """Bounds are sums of what lists give at most: each must give something, and never take away."""
    return len(lines) <= MOST_LINES and all(line.weight > 0 for line, _ in lines)


def _parts(queries: Sequence[int], threads: int) -> list[Sequence[int]]:
    size = min(BATCH, max(1, -(-len(queries) // threads)))
    return [queries[start : start + size] for start in range(0, len(queries), size)]


def _empty(queries: int, k: int) -> tuple[Array, Array]:
    return np.zeros((queries, k), dtype=np.uint64), np.zeros(queries, dtype=np.int64)


def _decoded(keys: Array, counts: Array) -> list[Found]:
    """Documents and scores out of keys, best first."""
    keys = np.sort(keys, axis=1)[:, ::-1]
    documents = (np.uint64(0xFFFFFFFF) - (keys & np.uint64(0xFFFFFFFF))).astype(np.int64)
    high = (keys >> np.uint64(32)).astype(np.uint32)
    positive = high >= np.uint32(1 << 31)
    scores = np.where(positive, high ^ np.uint32(1 << 31), ~high).view(np.float32)
    return [(documents[row, :count], scores[row, :count]) for row, count in enumerate(counts.tolist())]
