"""Hyperparameter searches and studies on a cluster, in a folder that all workers share."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankwell.core import SILENT, Progress, RankwellError, atomic_write
from rankwell.models.learning.pairs import Pairs, open_pairs
from rankwell.ray.cluster import On, connected
from rankwell.ray.encoding import everywhere
from rankwell.ray.worker import Work
from rankwell.ray.workers import LATER
from rankwell.studies import Cell, CellStore
from rankwell.studies.run.runner import check_inputs, check_libraries, libraries
from rankwell.training import Search, Searched
from rankwell.training.families import kind_named
from rankwell.training.search import CellKey


@contextmanager
def signed(folder: Path) -> Iterator[str]:
    """Write a file into a folder, whose name proves to workers that it is the same folder."""
    sign = f".shared-{secrets.token_hex(8)}"
    with atomic_write(folder / sign) as file:
        file.write(b"workers look for this file\n")
    try:
        yield sign
    finally:
        (folder / sign).unlink(missing_ok=True)


def check_shared(folder: Path, sign: str) -> None:
    """Refuse a different folder of the same path."""
    if not (folder / sign).is_file():
        raise RankwellError(
            f"{folder}: expected a folder that this machine shares with the one where the command was given, "
            "found one of its own, or none"
        )


@dataclass(frozen=True)
class Trainings:
    """The trainings of a hyperparameter search."""

    search: Search
    out: Path
    origin: str
    sign: str  # name of the file that proves that the folder is the same

    def open(self, threads: int) -> Work:  # noqa: ARG002 -- Ray sets torch's threads; settings may differ
        """Check that folder, data and model are the same."""
        check_shared(self.out, self.sign)
        for pairs in (self.search.pairs, self.search.validation):
            if isinstance(pairs, Pairs) and pairs.record != open_pairs(pairs.folder).record:
                raise RankwellError(
                    f"{pairs.folder}: expected the same pairs as where the command was given, found others"
                )
        model = self.search.model
        if kind_named(self.search.kind).origin(model) != self.origin:
            raise RankwellError(f"{model}: expected the same weights as where the command was given, found others")

        def work(key: CellKey) -> None:
            self.search.train(self.out, key)

        return work

    def describe(self, chunk: CellKey) -> str:
        """Describe the chunk by its setting."""
        setting = ", ".join(f"{name}={value}" for name, value in self.search.settings[chunk.place].items())
        return f"the training with {setting or 'the settings given'}, seed {chunk.seed}, fold {chunk.fold + 1}"


def search_on(on: On, search: Search, out: Path | str, progress: Progress = SILENT) -> Searched:
    """Run missing trainings on the workers of a cluster, and compare."""
    folder = Path(out).resolve()
    origin = kind_named(search.kind).origin(search.model)
    keys: dict[str, CellKey] = {}
    for key in search.cells():
        keys.setdefault(search.name(key), key)  # no two workers in the same folder
    progress.advance(search.trainings - len(keys))
    with ExitStack() as stack:
        task = Trainings(_in_full(search), folder, origin, stack.enter_context(signed(folder)))
        workers = stack.enter_context(stack.enter_context(connected(on)).workers(task, ahead=1))
        for _ in workers.map(keys.values()):
            progress.advance()
    return search.run(out)


def _in_full(search: Search) -> Search:
    """The search with absolute paths, because workers have another working folder."""
    pairs = replace(search.pairs, folder=search.pairs.folder.resolve())
    held_out = search.validation
    if isinstance(held_out, Pairs):
        held_out = replace(held_out, folder=held_out.folder.resolve())
    model = None if search.model is None else everywhere(search.model)
    return replace(search, pairs=pairs, validation=held_out, model=model)


@dataclass(frozen=True)
class StudyCells:
    """The cells of a study as a task."""

    cells: Path
    sign: str  # name of the file that proves that the folder is the same
    begun_in: Path
    libraries: Mapping[str, str]

    def open(self, threads: int) -> Work:
        """Check that folder and libraries are the same."""
        check_shared(self.cells, self.sign)
        check_libraries(self.libraries)
        with suppress(OSError):  # relative paths in a study must mean the same there
            os.chdir(self.begun_in)
        # Scores are cached on the worker: SQLite's locks are unreliable on shared file systems.
        store = CellStore(self.cells, scores=True)

        def work(cell: Cell) -> None:
            if not store.finished(cell.key):  # finished by a worker that was lost before it could report
                check_inputs(cell)
                store.do(cell, threads)

        return work

    def describe(self, chunk: Cell) -> str:
        """Describe the chunk by its title."""
        return chunk.title


@dataclass(frozen=True)
class CellsOn:
    """Runs the cells of a study on a cluster; for `run_study`."""

    on: On

    def __call__(self, cells: Iterable[Cell], store: CellStore) -> Iterator[Cell]:
        """Each cell as it is finished; none starts before those that it needs."""
        given: list[Cell] = []
        missing = {cell.key for cell in cells}
        with ExitStack() as stack:
            folder = store.folder.resolve()
            sign = stack.enter_context(signed(folder))
            task = StudyCells(folder, sign, Path.cwd(), libraries())
            workers = stack.enter_context(stack.enter_context(connected(self.on)).workers(task, ahead=1))
            for number, _ in workers.map(_as_they_can_be_done(cells, missing, given)):
                missing.discard(given[number].key)
                yield given[number]


def _as_they_can_be_done(cells: Iterable[Cell], missing: set[str], given: list[Cell]) -> Iterator[Any]:
    """Cells without missing dependencies, in order, on demand; `given` are those already handed out."""
    waiting = list(cells)
    while waiting:
        cell = next((cell for cell in waiting if missing.isdisjoint(cell.parents)), None)
        if cell is not None:
            waiting.remove(cell)
            given.append(cell)
        yield LATER if cell is None else cell
