"""Large runs, a few queries at a time: the compiled loops over their lines, in several threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice, pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rankwell.core.arrays import Floats, Integers
from rankwell.core.kernels import Kernels
from rankwell.core.text_column import Bytes, TextColumn

kernels = Kernels("rankwell.core.run_kernels", announced="the kernels for large runs")

# Loading the compiled kernels takes about half a second; Python writes this many lines in that time.
WORTH_LOADING = 250_000
AT_ONCE = 1 << 16  # lines

T = TypeVar("T")
R = TypeVar("R")


def worth_loading(lines: int) -> bool:
    """Whether a run of so many lines is for the compiled kernels."""
    return lines >= WORTH_LOADING and not kernels.reserved


def cores(threads: int | None = None) -> int:
    """The number of threads: as given, or that of the cores."""
    return threads or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def in_order(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """The results of some work in the order of the items, at most a few ahead of the one that is used."""
    if threads == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        coming = iter(items)
        waiting: deque[Future[R]] = deque(pool.submit(work, item) for item in islice(coming, threads + 1))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(work, item) for item in islice(coming, 1))


class Lines(NamedTuple):
    """The lines of the queries from `first` to `last` (exclusive), as the kernels take them."""

    first: int
    last: int
    offsets: Integers
    scores: Floats
    data: Bytes
    begins: Integers
    lengths: Integers


def parts(offsets: Integers) -> list[tuple[int, int]]:
    """The queries in parts of about the same number of lines: first and last (exclusive) of each."""
    wanted = np.arange(0, int(offsets[-1]) + AT_ONCE, AT_ONCE)
    borders = np.unique(np.append(np.searchsorted(offsets[:-1], wanted), len(offsets) - 1))
    return list(pairwise(np.unique(np.insert(borders, 0, 0)).tolist()))


def lines_of(offsets: Integers, column: TextColumn, scores: Floats, first: int, last: int) -> Lines:
    """The lines of some queries."""
    begin, end = int(offsets[first]), int(offsets[last])
    part = np.array(scores[begin:end], dtype=np.float32)
    return Lines(first, last, offsets[first : last + 1] - begin, part, column.data, *column.spans(begin, end))


def column_order(offsets: Integers, column: TextColumn, scores: Floats) -> Integers | None:
    """The permutation that sorts every query's documents by the tie rule, or None where they are sorted already."""
    loops = kernels()
    order: Integers | None = None
    for first, last in parts(offsets):
        lines = lines_of(offsets, column, scores, first, last)
        wrong: npt.NDArray[np.uint8] = np.zeros(last - first, dtype=np.uint8)
        if loops.unsettled(*lines[2:], wrong):
            if order is None:
                order = np.arange(len(scores), dtype=np.int64)
            span = slice(int(offsets[first]), int(offsets[last]))
            own = np.arange(len(lines.scores), dtype=np.int64)
            loops.settle(*lines[2:], wrong, own)
            order[span] = own + span.start
    return order


def warm_runs() -> None:
    """Load or compile every kernel for large runs, with one line each."""
    with kernels.reserve():
        loops = kernels()
        ids, offsets, scores = TextColumn.of([b"d"]), np.array([0, 1]), np.ones(1, dtype=np.float32)
        lines, mark, row = lines_of(offsets, ids, scores, 0, 1)[2:], np.ones(1, dtype=np.uint8), np.zeros(1, np.int64)
        texts, out = lines[2:], np.empty(100, dtype=np.uint8)
        loops.unsettled(*lines, mark)
        loops.settle(*lines, mark, row)
        head = np.frombuffer(b"q Q0 d 1 1.0 t\n", dtype=np.uint8)
        loops.format_lines(lines[0], head, offsets, head, *lines[1:], out)
        loops.parse_lines(head, out, np.zeros(2, dtype=np.int64), scores, np.zeros((1, 3), dtype=np.int64), row)
        loops.mark_repeated(lines[0], *texts, mark)
        loops.mark_judged(lines[0], *texts, offsets[:1], offsets[1:], *texts, row)
        kernels.mark_complete()
