"""Search a segment with the compiled kernels."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from itertools import accumulate
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from rankwell.core.kernels import Kernels
from rankwell.index.blocks import COMBINED, Array
from rankwell.index.scoring import Plan, QueryLine, Scoring
from rankwell.index.segment import Segment

if TYPE_CHECKING:
    from rankwell.index.kernels import Arrays, KernelModel, Lines, Scope


# The ranks for which a list stores the impact that its documents reach: k is rounded up to one of them.
RANKS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
FULL = 65535.0

QueryLines = Sequence[tuple[QueryLine, int]]  # a query's lines in a segment, each with its list
Head = tuple[int, int, int, int, int, int]  # the position of a list (see `Place`), its space, its largest impact
Row = tuple[int, int, int, int, int, int, int, float, float]  # the same with group, weight and seed


class ImpactTable:
    """The impacts of a segment's postings for one k1 and b."""

    def __init__(self, segment: Segment, kernels: ModuleType, arrays: Arrays, model: KernelModel) -> None:
        self._segment, self._kernels, self._arrays, self._model = segment, kernels, arrays, model
        rows = len(segment.file["frequent"])
        self.impacts = kernels.Impacts(
            np.zeros(len(segment.file["frequencies"]), dtype=np.uint16),
            np.zeros(rows * segment.windows, dtype=np.uint16),
        )
        self._known: dict[int, tuple[Head, list[float]]] = {}

    def prepare(self, lists: Iterable[tuple[int, int]]) -> None:
        """Compute the impacts of these lists (list and space of each), if not done yet."""
        fresh = dict.fromkeys(chosen for chosen in lists if chosen[0] not in self._known)
        if not fresh:
            return
        places = [(*self._segment.place(number), space) for number, space in fresh]
        lines = flat(self._kernels, [[(*place, 0, 0, 1.0, 0.0) for place in places]])
        tops = np.zeros(len(fresh), dtype=np.int64)
        seeds = np.zeros((len(fresh), len(RANKS)))
        ranks = np.array(RANKS, dtype=np.int64)
        self._kernels.prepare(self._arrays, lines, self._model, self._segment.windows, self.impacts, ranks, tops, seeds)
        prepared = zip(fresh, places, tops.tolist(), (seeds / FULL).tolist(), strict=True)
        for (number, _), place, top, reached in prepared:
            self._known[number] = (*place, top), [*reached, 0.0]  # nothing is known beyond the last rank

    def part(self, number: int, weight: float, step: int) -> tuple[Head, float, float]:
        """A prepared list in a query, with its weight and the seed for a step of `RANKS`."""
        head, seeds = self._known[number]
        return head, weight, seeds[step] * weight

    def lines(self, queries: Sequence[QueryLines], k: int) -> Lines:
        """The lines of many queries in the kernels' format; their lists must be prepared."""
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
    """The rows of many queries in the kernels' format."""
    rows = [row for of_query in queries for row in of_query]
    ends = np.array([0, *accumulate(map(len, queries))], dtype=np.int64)
    lines: Lines = kernels.Lines(ends, np.array(rows, dtype=kernels.LIST))
    return lines


kernels = Kernels("rankwell.index.kernels", announced="the search kernels")


def is_loaded() -> bool:
    """Whether the kernels are in memory: one small search is faster without them."""
    return kernels.loaded


MOST_LINES = 64  # beyond it, rounding of sums may exceed what the kernels allow for
SMALLEST, LARGEST = 1e-20, 1e30  # weights whose bounds keep float32's full precision
TABLES = 2  # settings of k1 and b with cached impacts
LARGE_K = 0.25  # with a k above this fraction of the documents nothing can be pruned
BATCH = 256  # queries per task of a thread

Found = tuple[Array, Array]
Setting = tuple[float, float, bool]  # k1, b, and the name by which lists shared by two fields are searched
Job = Callable[[], list[tuple[int, Found]]]
NOTHING: Found = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
ALL = np.zeros(0, dtype=np.bool_)  # placeholder for an unused mask


class Compiled:
    """Searches one segment of the index with the compiled kernels."""

    def __init__(self, segment: Segment, place: int) -> None:
        self._segment, self.place = segment, place
        self._tables: dict[Setting, ImpactTable] = {}
        self._models: dict[Setting, KernelModel] = {}
        self._lock = Lock()
        self._checked: set[int] = set()

    def search(
        self,
        plans: Sequence[Plan],
        k: int,
        scoring: Scoring,
        averages: Mapping[str, float],
        *,
        mask: Array | None,
        thresholds: Array,
        prune: bool,
        threads: int,
    ) -> list[Found]:
        """The k best documents of each query with their scores, best first."""
        every = scoring.match == "and"
        lines = [self._lines(plan, every=every) for plan in plans]
        setting = scoring.k1, scoring.b, self._is_shared and scoring.weights is not None
        model = self._models.get(setting) or self._model(setting, averages)
        allowed = ALL if mask is None else np.ascontiguousarray(mask)
        scope = self._kernels.Scope(self._segment.documents, mask is not None, allowed, k)
        prune = prune and k < LARGE_K * self._segment.documents
        pruned: list[int] = []
        others: list[int] = []
        for query, own in enumerate(lines):
            if own:
                (pruned if prune and is_prunable(own) else others).append(query)
        needed = [line for query in pruned for line in lines[query]]
        table = self._table(setting, model, needed) if pruned else None
        run = partial(self._run, lines=lines, scope=scope, model=model, thresholds=thresholds, every=every)
        jobs: list[Job] = [partial(run, part, table) for part in _parts(pruned, threads)]
        jobs += [partial(run, part, None) for part in _parts(others, threads)]
        out = [NOTHING] * len(plans)
        for results in _done(jobs, threads):
            for query, result in results:
                out[query] = result
        return out

    def prepared(self, k: int, scoring: Scoring, averages: Mapping[str, float], mask: Array | None) -> PreparedSegment:
        """This segment for many searches of one query each, with the same parameters."""
        setting = scoring.k1, scoring.b, self._is_shared and scoring.weights is not None
        model = self._models.get(setting) or self._model(setting, averages)
        allowed = ALL if mask is None else np.ascontiguousarray(mask)
        scope = self._kernels.Scope(self._segment.documents, mask is not None, allowed, k)
        search = self._kernels.search_and if scoring.match == "and" else self._kernels.search_or
        return PreparedSegment(
            self,
            self._kernels,
            search,
            (self._arrays, model, scope, self._segment.windows),
            self._table(setting, model, []),
        )

    def _lines(self, plan: Plan, *, every: bool) -> QueryLines:
        """A query's lists in this segment; none where a required term is missing."""
        lines = [(line, number) for line in plan.lines if (number := line.lists[self.place]) is not None]
        if every and len({line.group for line, _ in lines}) < plan.groups:
            return []
        self.check(number for _, number in lines)
        return lines

    def check(self, lists: Iterable[int]) -> None:
        """Check all bytes of these lists, if not done yet."""
        for number in lists:
            if number not in self._checked:
                self._segment.check_list(number)
                self._checked.add(number)

    def _table(self, setting: Setting, model: KernelModel, lines: QueryLines) -> ImpactTable:
        """The impacts for these parameters, computed for at least these lists."""
        with self._lock:
            table = self._tables.pop(setting, None) or ImpactTable(self._segment, self._kernels, self._arrays, model)
            self._tables[setting] = table  # mark as most recently used
            while len(self._tables) > TABLES:
                del self._tables[next(iter(self._tables))]
            table.prepare((number, self._segment.spaces[line.field]) for line, number in lines)
        return table

    def known(self, table: ImpactTable, lines: QueryLines, step: int) -> list[tuple[Head, float, float]]:
        """The lists of these lines as a table has them, each with its weight and seed."""
        with self._lock:
            table.prepare((number, self._segment.spaces[line.field]) for line, number in lines)
        return [table.part(number, line.weight, step) for line, number in lines]

    def _run(
        self,
        queries: Sequence[int],
        table: ImpactTable | None,
        *,
        lines: Sequence[QueryLines],
        scope: Scope,
        model: KernelModel,
        thresholds: Array,
        every: bool,
    ) -> list[tuple[int, Found]]:
        """The results of these queries: pruned with a table of impacts, else by reading every posting."""
        keys, counts = np.zeros((len(queries), scope.k), dtype=np.uint64), np.zeros(len(queries), dtype=np.int64)
        kernels, windows, asked = self._kernels, self._segment.windows, [lines[query] for query in queries]
        if table is not None:
            own = table.lines(asked, scope.k)
            search = kernels.search_and if every else kernels.search_or
            search(self._arrays, table.impacts, own, model, scope, windows, thresholds[queries], keys, counts)
        else:
            place, spaces = self._segment.place, self._segment.spaces
            rows = [
                [(*place(number), spaces[line.field], 0, line.group, line.weight, 0.0) for line, number in of_query]
                for of_query in asked
            ]
            kernels.search_all(self._arrays, flat(kernels, rows), model, scope, windows, every, keys, counts)
        keys.sort(axis=1)
        documents, scores = np.empty(keys.shape, dtype=np.int64), np.empty(keys.shape, dtype=np.float32)
        kernels.decode(keys, counts, documents, scores)
        places = zip(queries, counts.tolist(), strict=True)
        return [(query, (documents[row, :count], scores[row, :count])) for row, (query, count) in enumerate(places)]

    @cached_property
    def _is_shared(self) -> bool:
        """Whether a field shares its lists with the combined one. Their average lengths and impacts differ."""
        return len(set(self._segment.spaces.values())) < len(self._segment.spaces)

    def _model(self, setting: Setting, averages: Mapping[str, float]) -> KernelModel:
        k1, b, by_name = setting
        spaces = self._segment.spaces
        of_space = np.ones(max(spaces.values()) + 1)
        for name in sorted(spaces, key=lambda name: (name == COMBINED) != by_name):  # the searched one comes last
            of_space[spaces[name]] = averages[name]
        model: KernelModel = self._kernels.KernelModel(float(k1), float(b), of_space)
        self._models[setting] = model
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


class PreparedSegment:
    """One segment, for many searches of one query each."""

    def __init__(
        self,
        compiled: Compiled,
        kernels: ModuleType,
        search: Callable[..., None],
        fixed: tuple[Arrays, KernelModel, Scope, int],
        table: ImpactTable,
    ) -> None:
        self._compiled, self._kernels, self._search, self._table = compiled, kernels, search, table
        self._arrays, self._model, self._scope, self._windows = fixed
        self.documents = self._scope.documents
        self._step = bisect_left(RANKS, self._scope.k)
        self._ends = [np.array([0, count], dtype=np.int64) for count in range(MOST_LINES + 1)]

    def parts(self, lines: Sequence[QueryLine]) -> list[tuple[Head, float, float]]:
        """The lists of these lines in this segment, each with its weight and seed."""
        own = [(line, number) for line in lines if (number := line.lists[self._compiled.place]) is not None]
        self._compiled.check(number for _, number in own)
        return self._compiled.known(self._table, own, self._step)

    def search(self, rows: Sequence[Row], threshold: Array) -> Found:
        """The k best documents of one query with their scores, best first."""
        kernels, k = self._kernels, self._scope.k
        keys, counts = np.zeros((1, k), dtype=np.uint64), np.zeros(1, dtype=np.int64)
        lines = kernels.Lines(self._ends[len(rows)], np.array(rows, dtype=kernels.LIST))
        impacts, model, scope = self._table.impacts, self._model, self._scope
        self._search(self._arrays, impacts, lines, model, scope, self._windows, threshold, keys, counts)
        keys.sort(axis=1)
        documents, scores = np.empty((1, k), dtype=np.int64), np.empty((1, k), dtype=np.float32)
        kernels.decode(keys, counts, documents, scores)
        count = counts.item()
        return documents[0, :count], scores[0, :count]


def _done(jobs: Sequence[Job], threads: int) -> Iterable[list[tuple[int, Found]]]:
    """The results of the jobs; kernels release the GIL, so that threads run in parallel."""
    if threads == 1 or len(jobs) == 1:
        return (job() for job in jobs)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda job: job(), jobs))


def is_prunable(lines: QueryLines) -> bool:
    """Whether bounds are valid as sums of the lists' maxima: all weights positive and within float32's range."""
    return len(lines) <= MOST_LINES and all(SMALLEST < line.weight < LARGEST for line, _ in lines)


def _parts(queries: Sequence[int], threads: int) -> list[Sequence[int]]:
    size = min(BATCH, max(1, -(-len(queries) // threads)))
    return [queries[start : start + size] for start in range(0, len(queries), size)]
