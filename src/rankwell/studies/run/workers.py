"""Do cells in other processes, here or on another machine with the same data and models."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection, wait
from pathlib import Path

from rankwell import __version__
from rankwell.core import RankwellError
from rankwell.models.base import find_model
from rankwell.studies.plan.cells import Cell, CellStore
from rankwell.studies.plan.collections import Chosen, facts_of
from rankwell.studies.plan.models import check_model, weights_of
from rankwell.studies.recipes.training import TrainJob
from rankwell.studies.run.jobs import AssessorsJob, IndexJob, PairsJob, RunJob, VectorsJob
from rankwell.studies.steps import model_of
from rankwell.studies.steps.kinds import STORED, fingerprint_of_run


def in_processes(count: int, threads: int, cells: Sequence[Cell], store: CellStore) -> Iterator[Cell]:
    """Do cells in `count` processes of `threads` threads each; yields finished cells.

    A process does one cell at a time, and never outlives this one. Unfinished cells leave no valid result.
    """
    context = multiprocessing.get_context("spawn")
    processes, free, waiting = [], list[Connection](), list(cells)
    busy: dict[Connection, Cell] = {}
    try:
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_worker, args=(theirs, str(store.folder), threads), daemon=True)
            process.start()
            theirs.close()
            processes.append(process)
            free.append(ours)
        while waiting or busy:
            for cell in [cell for cell in waiting if all(map(store.finished, cell.parents))][: len(free)]:
                waiting.remove(cell)
                free[-1].send(cell)
                busy[free.pop()] = cell
            for worker in wait(list(busy)):
                assert isinstance(worker, Connection)  # noqa: S101 -- nothing else was waited for
                cell = busy.pop(worker)
                _raise_failure(cell, worker)
                free.append(worker)
                yield cell
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _raise_failure(cell: Cell, worker: Connection) -> None:
    """Raise a worker's error in this process: one line for a user's mistake, else with its traceback."""
    try:
        failure = worker.recv()
    except EOFError as error:
        raise RankwellError(f"{cell.title}: the process that did it was killed: run the study again") from error
    if failure is not None and failure["ours"]:
        raise RuntimeError(f"{cell.title}: {failure['trace']}")
    if failure is not None:
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
    """End this process when its parent is gone, even by kill -9."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


LIBRARIES = ("numpy", "onnxruntime", "tokenizers", "torch", "transformers")


def libraries() -> dict[str, str]:
    """The versions of the installed libraries that results may depend on."""
    versions = {"rankwell": __version__}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def check_libraries(expected: Mapping[str, str]) -> None:
    """Raise an error for other versions than those in the study's report."""
    found = libraries()
    for name in dict.fromkeys((*expected, *found)):
        if expected.get(name) != found.get(name):
            known = expected.get(name, "no such library")
            raise RankwellError(f"{name}: expected {known} as where the study was begun, found {found.get(name)}")


def check_inputs(cell: Cell) -> None:
    """Raise an error for other data or models than those that the cell was planned with."""
    job = cell.job
    if isinstance(job, IndexJob | PairsJob | AssessorsJob):
        _check_data(job.chosen)
    elif isinstance(job, TrainJob):
        for chosen in job.collections:
            _check_data(chosen)
        for name, weights in zip(job.recipe.models, job.weights, strict=True):
            if name not in dict(job.models):
                _check_same(name, weights, weights_of(find_model(name)))
    elif isinstance(job, VectorsJob | RunJob):
        use = model_of(job.step)
        if job.step.kind in STORED:
            _check_same(job.step["file"], job.model, fingerprint_of_run(job.step, job.context.source))
        elif use is not None and not job.step.beside and use.name not in dict(job.context.models):
            _check_same(use.name, job.model, check_model(use))


def _check_data(chosen: Chosen) -> None:
    here, planned = facts_of(chosen.open(), chosen.entry), chosen.facts
    _check_same(chosen.source, planned.fingerprint, here.fingerprint)
    if planned.training:
        _check_same(f"{chosen.source} ({chosen.entry.train})", planned.training, here.training)


def _check_same(what: str, expected: str | None, found: str) -> None:
    if found != expected:
        raise RankwellError(f"{what}: expected the same as where the study was begun, found something else")
