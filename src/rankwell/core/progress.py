"""Progress of long work: a bar on a terminal, a plain line now and then elsewhere, nothing when asked to be quiet."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Self, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


T = TypeVar("T")

BAR_SECONDS = 0.1  # seconds between two updates of a bar
LINE_SECONDS = 10.0  # seconds between two plain lines
STRIDE = 256  # most items between two checks of the clock, so that counting costs nothing
OFTEN = 0.01  # seconds between two checks of the clock below which they become rarer


class Progress:
    """Counts items and shows their number, the rate, and the remaining time.

    with Progress("reading", unit="documents") as progress:
        for document in progress.track(documents): ...

    The total is either given (`total`, in items) or taken from the files being read (`watch`).
    """

    def __init__(
        self,
        what: str,
        *,
        unit: str = "items",
        total: int | None = None,
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        self.what, self.unit, self.total = what, unit, total
        self.stream = stream or sys.stderr
        self.count = 0
        self.note = ""  # shown behind the count, such as the last loss
        self._watched: list[tuple[Callable[[], int], int]] = []
        self._bar: RichProgress | None = None
        self._started = self._shown = time.monotonic()
        self._looked, self._next, self._stride = self._started, 1, 1
        # A process without a terminal may have no standard error at all.
        self._terminal = self.stream is not None and self.stream.isatty()
        self.quiet = quiet or self.stream is None
        self._pause = BAR_SECONDS if self._terminal else LINE_SECONDS

    def __enter__(self) -> Self:
        self._started = self._shown = time.monotonic()
        if not self.quiet and self._terminal:
            self._bar = _bar(self.stream)
            self._bar.add_task(self.what, total=None, state="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._show()
            self._bar.stop()
        elif not self.quiet and self._shown > self._started:  # shown only after earlier output
            self._show()

    def track(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items and count them."""
        for item in items:
            yield item
            self.count += 1
            if self.count >= self._next:
                self._look()

    def advance(self, items: int = 1) -> None:
        """Count this many more items as done."""
        self.count += items
        self._refresh()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Show no bar while the block runs: it would wipe out a question. The time of the block does not count."""
        begun = time.monotonic()
        if self._bar is not None:
            self._bar.stop()
        yield
        self._started += time.monotonic() - begun
        if self._bar is not None:
            self._bar.start()

    def watch(self, position: Callable[[], int], size: int) -> None:
        """Take the completed fraction from a file: its current position, and its size."""
        if not self.quiet:  # a quiet one needs none, and a process may read very many files
            self._watched.append((position, size))

    def share(self) -> float | None:
        """The completed fraction from 0 to 1, or None where it is unknown."""
        if self.total:
            return min(1.0, self.count / self.total)
        size = sum(size for _, size in self._watched)
        return min(1.0, sum(position() for position, _ in self._watched) / size) if size else None

    def _look(self) -> None:
        """Check the clock after every slow item, but rarely where items are fast."""
        now = time.monotonic()
        self._stride = min(2 * self._stride, STRIDE) if now - self._looked < OFTEN else max(self._stride // 2, 1)
        self._looked, self._next = now, self.count + self._stride
        self._refresh()

    def _refresh(self) -> None:
        if not self.quiet and time.monotonic() - self._shown >= self._pause:
            self._show()

    def _speed(self, elapsed: float) -> str:
        """Items a second; seconds an item where they are slow."""
        if 0 < self.count < elapsed:
            return f"{elapsed / self.count:,.1f} s each"
        return f"{self.count / elapsed:,.0f}/s"

    def _show(self) -> None:
        self._shown = time.monotonic()
        elapsed, share = max(self._shown - self._started, 1e-9), self.share()
        state = f"{self.count:,} {self.unit}, {self._speed(elapsed)}{self.note and f', {self.note}'}"
        if self._bar is not None:
            total = None if share is None else 1.0
            self._bar.update(self._bar.task_ids[0], completed=share or 0.0, total=total, state=state)
            return
        percent = "" if share is None else f"{share:.0%}, "
        left = "" if not share else f", {elapsed / share - elapsed:,.0f} s left"
        print(f"{self.what}: {percent}{state}{left}", file=self.stream, flush=True)


SILENT = Progress("", quiet=True)
"""For callers that want no display."""


def _bar(stream: TextIO) -> RichProgress:
    """A bar with the count and the rate; rich is imported only for a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    parts = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[state]}")
    return RichProgress(*parts, TimeRemainingColumn(), console=Console(file=stream), transient=True)
