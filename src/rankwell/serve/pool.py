"""Searches in a few threads: the event loop only reads requests and sends answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from rankwell.core import RankwellError

P = ParamSpec("P")
T = TypeVar("T")


class BusyError(RankwellError):
    """Too many searches wait already, or one has waited too long."""

    retry_after = 1

    def __init__(self, found: str) -> None:
        super().__init__(f"searches: expected a free place, found {found}: try again in {self.retry_after} s")


class SearchPool:
    """Runs functions in `threads` threads, used from one event loop.

    Up to `waiting` callers wait, each for up to `patience` seconds; the others hear `BusyError` at once. Kernels and
    models let go of the interpreter's lock, so that threads run side by side.
    """

    def __init__(self, threads: int, waiting: int, patience: float) -> None:
        self.threads, self.most_waiting, self.patience = threads, waiting, patience
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="rankwell-search")
        self._places = asyncio.Semaphore(threads)
        self.waiting = self.shed = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function gives."""
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
        """Wait for what runs; start nothing more."""
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
        """Give the place free when the thread is: a caller that gave up may have left it at work."""
        if future.done() or future.cancel():
            self._places.release()
        else:
            loop = asyncio.get_running_loop()
            future.add_done_callback(lambda _: _release(loop, self._places))


def _release(loop: asyncio.AbstractEventLoop, places: asyncio.Semaphore) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(places.release)
