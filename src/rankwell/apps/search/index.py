"""The server's index, reopened after each commit, and the threads that search it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import ParamSpec, TypeVar

from rankwell.core import RankwellError
from rankwell.index import SearchIndex, open_index

EVERY = 1.0  # seconds between two checks for commits of other programs


class OpenIndex:
    """Gives the index at its last commit. A request keeps the version it got; later requests get later versions."""

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._lock = Lock()
        self._index = open_index(path)
        self._seen = self._index.last_commit()
        self._next = time.monotonic() + EVERY

    @property
    def current(self) -> SearchIndex:
        """The index at its last commit; commits of other programs are seen after a second."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + EVERY
            if self._index.last_commit() != self._seen:
                self.refresh()
        return self._index

    def refresh(self) -> SearchIndex:
        """Check for a later commit now; called after the server's own commits."""
        with self._lock:
            mark = self._index.last_commit()  # before opening: a commit in between is found the next time
            if mark != self._seen:
                try:
                    self._index = open_index(self._path)
                except RankwellError:
                    return self._index  # another program is in the middle of its commit; keep the open version
                self._seen = mark
            return self._index


P = ParamSpec("P")
T = TypeVar("T")


class BusyError(RankwellError):
    """Too many searches are waiting, or this one has waited too long."""

    retry_after = 1

    def __init__(self, found: str) -> None:
        super().__init__(f"searches: expected a free place, found {found}: try again in {self.retry_after} s")


class SearchPool:
    """Runs functions in `threads` threads, used from one event loop.

    Up to `waiting` callers wait, each for up to `patience` seconds; more get `BusyError` at once. Kernels and
    models release the GIL, so that threads run in parallel.
    """

    def __init__(self, threads: int, waiting: int, patience: float) -> None:
        self.threads, self.most_waiting, self.patience = threads, waiting, patience
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="rankwell-search")
        self._places = asyncio.Semaphore(threads)
        self.waiting = self.shed = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the function in a thread of the pool and return its result."""
        if self._places.locked():
            await self._wait()
        else:
            await self._places.acquire()
        future = self._executor.submit(function, *args, **kwargs)
        try:
            return await asyncio.wrap_future(future)
        finally:
            self._leave(future)

    def close(self) -> None:
        """Wait for running functions; start no more."""
        self._executor.shutdown(cancel_futures=True)

    async def _wait(self) -> None:
        if self.waiting >= self.most_waiting:
            self.shed += 1
            raise BusyError(f"{self.waiting} searches that wait for one")
        self.waiting += 1
        try:
            async with asyncio.timeout(self.patience):
                await self._places.acquire()
        except TimeoutError:
            self.shed += 1
            raise BusyError(f"none within {self.patience:g} s") from None
        finally:
            self.waiting -= 1

    def _leave(self, future: Future[T]) -> None:
        """Free the place when the thread ends: after a caller gave up, its thread may still run."""
        if future.done() or future.cancel():
            self._places.release()
        else:
            loop = asyncio.get_running_loop()
            future.add_done_callback(lambda _: _release(loop, self._places))


def _release(loop: asyncio.AbstractEventLoop, places: asyncio.Semaphore) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(places.release)
