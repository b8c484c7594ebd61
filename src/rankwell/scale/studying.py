"""Studies on a cluster: each cell is a chunk, in a folder that all workers see."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwell.scale.address import Address
from rankwell.scale.cluster import Cluster, connected
from rankwell.scale.shared_folder import check_shared, signed
from rankwell.scale.tasks import Work
from rankwell.scale.workers import LATER
from rankwell.studies import Cell, CellStore
from rankwell.studies.elsewhere import check_inputs, check_libraries, libraries


@dataclass(frozen=True)
class StudyCells:
    """The cells of a study."""

    cells: Path
    sign: str  # the name of a file that shows whether the folder is the same one
    begun_in: Path
    libraries: Mapping[str, str]

    def open(self, threads: int) -> Work:
        """Make sure that folder and libraries are the same."""
        check_shared(self.cells, self.sign)
        check_libraries(self.libraries)
        with contextlib.suppress(OSError):  # what a study names by a path from here means the same there
            os.chdir(self.begun_in)
        # Scores of pairs are kept at the worker: SQLite does not trust the locks of shared file systems.
        store = CellStore(self.cells, scores=True)

        def work(cell: Cell) -> None:
            if not store.finished(cell.key):  # by a worker that was lost before it could say so
                check_inputs(cell)
                store.do(cell, threads)

        return work

    def describe(self, chunk: Cell) -> str:
        """By its title."""
        return chunk.title


@dataclass(frozen=True)
class CellsOn:
    """Does the cells of a study on a cluster; `run_study` takes it."""

    on: str | Address | Cluster

    def __call__(self, cells: Iterable[Cell], store: CellStore) -> Iterator[Cell]:
        """Each cell as it is finished; none is begun before those that it needs."""
        given: list[Cell] = []
        missing = {cell.key for cell in cells}
        with contextlib.ExitStack() as stack:
            folder = store.folder.resolve()
            sign = stack.enter_context(signed(folder))
            task = StudyCells(folder, sign, Path.cwd(), libraries())
            workers = stack.enter_context(stack.enter_context(connected(self.on)).workers(task, ahead=1))
            for number, _ in workers.map(_as_they_can_be_done(cells, missing, given)):
                missing.discard(given[number].key)
                yield given[number]


def _as_they_can_be_done(cells: Iterable[Cell], missing: set[str], given: list[Cell]) -> Iterator[Any]:
    """Cells that need none that is missing, in their order, as they are asked for; `given` are those that were."""
    waiting = list(cells)
    while waiting:
        cell = next((cell for cell in waiting if missing.isdisjoint(cell.parents)), None)
        if cell is not None:
            waiting.remove(cell)
            given.append(cell)
        yield LATER if cell is None else cell
