"""Many texts through a model: tokenised ahead of it, the longest first, on as many threads as there are cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TypeVar

import numpy as np

from rankwell.core.arrays import Floats
from rankwell.core.errors import ParameterError
from rankwell.core.progress import Progress
from rankwell.encode.opening import Model
from rankwell.encode.tokens import Tokens

T = TypeVar("T")

WINDOW = 512  # texts that are tokenised and sorted together, while the window before runs


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """The number of threads asked for, or one a core."""
    if threads is not None and threads < 1:
        raise ParameterError("threads", expected="a number from 1", found=threads)
    return threads or cores()


def run_all(
    texts: Sequence[T],
    tokenise: Callable[[Sequence[T]], list[Tokens]],
    model: Model,
    *,
    finish: Callable[[Floats], Floats],
    width: int,
    threads: int,
    progress: Progress,
) -> Floats:
    """One row of `width` numbers for each text, in their order."""
    results = np.zeros((len(texts), width), dtype=np.float32)
    # A device that takes large batches is fed by one thread; a core that takes one text at a time has its own.
    workers = ThreadPoolExecutor(1 if model.batch_tokens else threads)
    ahead = ThreadPoolExecutor(1)

    def work(start: int, made: list[Tokens], places: list[int]) -> int:
        for place, output in zip(places, model.run([made[place] for place in places]), strict=True):
            results[start + place] = finish(output)
        return len(places)

    try:
        starts = range(0, len(texts), WINDOW)
        following: Future[list[Tokens]] | None = None
        before: list[Future[int]] = []
        for start in starts:
            made = (following or ahead.submit(tokenise, texts[start : start + WINDOW])).result()
            if start + WINDOW < len(texts):
                following = ahead.submit(tokenise, texts[start + WINDOW : start + 2 * WINDOW])
            now = [workers.submit(work, start, made, places) for places in batches(made, model.batch_tokens)]
            _wait(before, progress)  # one window runs while the next is queued, so that no core is ever idle
            before = now
        _wait(before, progress)
    finally:
        ahead.shutdown(cancel_futures=True)
        workers.shutdown(cancel_futures=True)
    return results


def batches(made: Sequence[Tokens], budget: int | None) -> Iterator[list[int]]:
    """The places of the texts, the longest first, as many together as the budget of tokens (with padding) allows."""
    order = sorted(range(len(made)), key=lambda place: -len(made[place].ids))
    if budget is None:
        yield from ([place] for place in order)
        return
    start = 0
    while start < len(order):
        size = max(1, budget // len(made[order[start]].ids))
        yield order[start : start + size]
        start += size


def _wait(futures: list[Future[int]], progress: Progress) -> None:
    for future in as_completed(futures):
        progress.advance(future.result())
