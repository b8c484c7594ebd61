"""Run a study: plan, confirm, do the unfinished cells here, in processes or elsewhere, and keep them in one folder."""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import orjson

from rankwell import __version__
from rankwell.core import Progress, RankwellError, atomic_write
from rankwell.index.manifest import WriterLock
from rankwell.models.base import find_model
from rankwell.studies.file.reading import ExperimentFile, parse_study
from rankwell.studies.plan.cells import Cell, CellStore, write_json
from rankwell.studies.plan.collections import Chosen, CollectionFinder, facts_of
from rankwell.studies.plan.cost import Estimate, estimate
from rankwell.studies.plan.plan import Plan, check_model, make_plan, weights_of
from rankwell.studies.recipes.training import TrainJob
from rankwell.studies.run.jobs import AssessorsJob, IndexJob, LatencyJob, PairsJob, RunJob, VectorsJob
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
    installed = libraries()
    for name in dict.fromkeys((*expected, *installed)):
        if expected.get(name) != installed.get(name):
            known = expected.get(name, "no such library")
            raise RankwellError(f"{name}: expected {known} as where the study was begun, found {installed.get(name)}")


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


FILE, SETTINGS, CELLS, DATA = "study.toml", "run.json", "cells", "data.json"
WORTH_PROCESSES = 30.0  # seconds of work from which a second process is worthwhile

Ask = Callable[[Estimate], bool]
DoCells = Callable[[Sequence[Cell], CellStore], Iterator[Cell]]  # yields finished cells, dependencies first


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run, which are stored in its folder to resume it."""

    name: str
    budget: str | None = None
    data: str | None = None
    collections: Mapping[str, str] = field(default_factory=dict)
    latency: float | None = None  # milliseconds a query may take, for the frontier
    vary: Mapping[str, Sequence[str]] = field(default_factory=dict)  # values in place of the study's own
    begun: str = ""
    rankwell: str = __version__


@dataclass(frozen=True)
class StudyFolder:
    """The folder of a study: its file, settings, cells and report."""

    path: Path

    @property
    def store(self) -> CellStore:
        """The store of finished cells."""
        return CellStore(self.path / CELLS)

    @property
    def exists(self) -> bool:
        """Whether a study was started in this folder."""
        return (self.path / SETTINGS).is_file()

    def settings(self) -> RunSettings:
        """Read the settings of the run."""
        try:
            return RunSettings(**orjson.loads((self.path / SETTINGS).read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            expected = f"the folder of a study that was run, with {SETTINGS}"
            raise RankwellError(f"{self.path}: expected {expected}, found {error}") from error

    def file(self) -> ExperimentFile:
        """Read the study file with this run's budget and values."""
        settings = self.settings()
        path = self.path / FILE
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise RankwellError(f"{path}: expected the study's file, found nothing: {error.strerror}") from error
        return parse_study(text, str(path), settings.name).within(settings.budget).varying(settings.vary)

    def begin(self, file: ExperimentFile, settings: RunSettings) -> None:
        """Write the study and its settings; an error in the folder of another study."""
        if self.exists:
            before = self.settings()
            if before.name != settings.name:
                expected = f"expected a folder for {settings.name}, found the study {before.name}"
                raise RankwellError(f"{self.path}: {expected}")
            settings = replace(settings, begun=before.begun)
        elif self.path.is_dir() and any(self.path.iterdir()):
            raise RankwellError(f"{self.path}: expected a new folder, or one of this study, found something else in it")
        with atomic_write(self.path / FILE) as target:
            target.write(file.text.encode())
        begun = settings.begun or datetime.now(UTC).isoformat(timespec="seconds")
        write_json(self.path / SETTINGS, {**vars(settings), "begun": begun})

    def plan(self, *, quiet: bool = True) -> Plan:
        """The plan with all cells of the study."""
        settings = self.settings()
        data = Path(settings.data) if settings.data else None
        return make_plan(self.file(), CollectionFinder(data, self.path / DATA, settings.collections, quiet))


@dataclass(frozen=True)
class Machine:
    """The resources that a study may use."""

    jobs: int | None = None
    threads: int | None = None

    def processes(self, work: Estimate) -> int:
        """Number of cells at a time: two where they are worthwhile and there are enough cores."""
        if self.jobs is not None:
            return self.jobs
        return 2 if work.seconds > WORTH_PROCESSES and self.cores > 1 and work.cells > 1 else 1

    @property
    def cores(self) -> int:
        """Total number of threads."""
        return self.threads or os.cpu_count() or 1

    def one_by_one(self, cells: Sequence[Cell], store: CellStore) -> Iterator[Cell]:
        """Do cells in this process."""
        for cell in cells:
            try:
                store.do(cell, self.cores)
            except RankwellError as error:
                raise RankwellError(f"{cell.title}: {error}") from error
            yield cell


def run_study(
    folder: StudyFolder,
    machine: Machine | None = None,
    *,
    ask: Ask | None = None,
    others: DoCells | None = None,
    quiet: bool = False,
) -> tuple[Plan, Estimate]:
    """Do the unfinished cells of a study. `ask` gets the estimated cost first, and may refuse.

    `others` do the cells instead of this machine (`rankwell.ray.CellsOn`), except latencies, which are measured
    here.
    """
    machine = machine or Machine()
    plan = folder.plan(quiet=quiet)
    store = folder.store
    if all(store.finished(key) for key in plan.cells):
        return plan, Estimate(0, len(plan.cells), (), 0)
    with ExitStack() as stack:
        stack.callback(WriterLock(folder.path).release)
        store.clean()
        work = estimate(plan, store, machine.cores)
        if ask is not None and not ask(work):
            raise RankwellError("nothing was run")
        todo = [cell for cell in plan.cells.values() if not store.finished(cell.key)]
        count = machine.processes(work)
        together = machine.one_by_one if count == 1 else partial(in_processes, count, max(1, machine.cores // count))
        timed = [cell for cell in todo if isinstance(cell.job, LatencyJob)]  # alone, after those in parallel
        untimed = [cell for cell in todo if not isinstance(cell.job, LatencyJob)]
        with Progress(plan.file.name, unit="cells", total=len(todo), quiet=quiet) as progress:
            for cells, do in ((untimed, others or together), (timed, machine.one_by_one)):
                for _ in do(cells, store) if cells else ():
                    progress.advance()
    return plan, work


def versions() -> dict[str, Any]:
    """Versions and machine that results may depend on."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return {"rankwell": __version__, "python": platform.python_version(), **libraries(), "machine": machine}
