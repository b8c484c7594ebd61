"""Any function over chunks, on a cluster or here: what studies and programs use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rankwell.core.progress import SILENT, Progress
from rankwell.scale.address import Address
from rankwell.scale.cluster import connected
from rankwell.scale.in_process import InProcess
from rankwell.scale.tasks import Work
from rankwell.scale.workers import Workers

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Function:
    """A plain function as a task."""

    function: Callable[[Any], Any]

    def open(self, threads: int) -> Work:  # noqa: ARG002 -- a function says itself how many it uses
        """There is nothing to load."""
        return self.function

    def describe(self, chunk: Any) -> str:
        """As Python shows it, cut."""
        text = repr(chunk)
        return text if len(text) <= 60 else text[:60] + "..."  # noqa: PLR2004 -- enough to know it by


def map_chunks(
    function: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
    *,
    on: str | None = None,
    workers: int | None = None,
    progress: Progress = SILENT,
) -> Iterator[Result]:
    """What a function gives for each chunk, in the order of the chunks.

    `on` is what `--on` says; without it everything happens here. A chunk whose worker is lost is given to another one;
    one that fails three times, or raises a RankwellError, ends it with an error that names the chunk.
    """
    with ExitStack() as stack:
        task = Function(function)
        if on is None:
            crew = stack.enter_context(Workers(InProcess(), task))
        else:
            address = Address.parse(on)
            cluster = stack.enter_context(connected(replace(address, workers=workers or address.workers)))
            crew = stack.enter_context(cluster.workers(task))
        yield from in_order(crew.map(chunks), progress)


def in_order(finished: Iterable[tuple[int, Result]], progress: Progress = SILENT) -> Iterator[Result]:
    """Numbered results in the order of their numbers; what comes early waits."""
    early: dict[int, Result] = {}
    following = 0
    for number, result in finished:
        progress.advance()
        early[number] = result
        while following in early:
            yield early.pop(following)
            following += 1
