"""Cells in processes of their own, so that independent ones run at the same time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from rankwell.core import RankwellError
from rankwell.studies.cells import Cell, CellStore

FAILED = "failed"


class Workers:
    """So many processes, each doing one cell at a time. A worker never outlives the process that started it."""

    def __init__(self, count: int, folder: Path, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._free: list[Connection] = []
        self._busy: dict[Connection, Cell] = {}
        self._processes = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_worker, args=(theirs, str(folder), threads), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._free.append(ours)

    @property
    def has_room(self) -> bool:
        """Whether a worker waits for work."""
        return bool(self._free)

    @property
    def busy(self) -> int:
        """How many are at work."""
        return len(self._busy)

    def start(self, cell: Cell) -> None:
        """Give a cell to a worker that is free."""
        worker = self._free.pop()
        worker.send(cell)
        self._busy[worker] = cell

    def finished(self) -> list[Cell]:
        """Wait until a worker is done; the cells that are finished then."""
        done = []
        for worker in wait(list(self._busy)):
            assert isinstance(worker, Connection)  # noqa: S101 -- nothing else was waited for
            cell = self._busy.pop(worker)
            try:
                failure = worker.recv()
            except EOFError as error:
                raise RankwellError(f"{cell.title}: the process that did it was killed: run the study again") from error
            if failure is not None:
                raise_failure(cell, failure)
            self._free.append(worker)
            done.append(cell)
        return done

    def close(self) -> None:
        """End all of them, whatever they do: what is unfinished leaves no trace that counts."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()


@contextmanager
def working(count: int, folder: Path, threads: int) -> Iterator[Workers]:
    """Workers for a while."""
    workers = Workers(count, folder, threads)
    try:
        yield workers
    finally:
        workers.close()


def in_processes(count: int, threads: int, cells: Sequence[Cell], store: CellStore) -> Iterator[Cell]:
    """Do cells in so many processes of so many threads; each as it is finished."""
    with working(count, store.folder, threads) as workers:
        waiting = list(cells)
        while waiting or workers.busy:
            for cell in [cell for cell in waiting if all(map(store.finished, cell.parents))]:
                if workers.has_room:
                    waiting.remove(cell)
                    workers.start(cell)
            yield from workers.finished()


def raise_failure(cell: Cell, failure: dict[str, Any]) -> None:
    """A worker's error in this process: one line for a user's mistake, all of it for ours."""
    if failure["ours"]:
        raise RuntimeError(f"{cell.title}: {failure['trace']}")
    raise RankwellError(f"{cell.title}: {failure['message']}")


def _worker(work: Connection, folder: str, threads: int) -> None:
    """Do cells until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the first process, which ends this one
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    store = CellStore(Path(folder))
    while True:
        try:
            cell = work.recv()
        except EOFError:
            return
        failure = None
        try:
            store.do(cell, threads)
        except Exception as error:  # noqa: BLE001 -- it is raised again where the user is
            ours = not isinstance(error, (RankwellError, OSError))
            failure = {"message": str(error), "ours": ours, "trace": traceback.format_exc()}
        work.send(failure)


def _leave_with_parent() -> None:
    """End at once when the process that started this one is gone, be it by kill -9."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
