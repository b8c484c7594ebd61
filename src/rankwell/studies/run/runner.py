"""Run a study: plan, confirm, do the unfinished cells, and write the report into one folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from rankwell import __version__
from rankwell.core import Progress, RankwellError, atomic_write
from rankwell.index.manifest import WriterLock
from rankwell.studies.file.reading import ExperimentFile, parse_study
from rankwell.studies.plan.cells import Cell, CellStore, write_json
from rankwell.studies.plan.collections import CollectionFinder
from rankwell.studies.plan.cost import Estimate, estimate
from rankwell.studies.plan.plan import Plan, make_plan
from rankwell.studies.run.jobs import LatencyJob
from rankwell.studies.run.workers import in_processes, libraries

logger = logging.getLogger(__name__)

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
    import platform

    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return {"rankwell": __version__, "python": platform.python_version(), **libraries(), "machine": machine}
