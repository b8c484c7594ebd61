"""Running a study: plan, ask, do what is not done yet, and leave everything in one folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from rankwell import __version__
from rankwell.core import Progress, RankwellError, atomic_write
from rankwell.index.lock import WriterLock
from rankwell.studies.cells import Cell, CellStore, write_json
from rankwell.studies.cost import Estimate, estimate
from rankwell.studies.data import Shelf
from rankwell.studies.jobs import LatencyJob
from rankwell.studies.plan import Plan, make_plan
from rankwell.studies.reading import StudyFile, parse_study
from rankwell.studies.workers import working

logger = logging.getLogger(__name__)

FILE, SETTINGS, CELLS, DATA = "study.toml", "run.json", "cells", "data.json"
WORTH_PROCESSES = 30.0  # seconds of work below which a second process costs more than it brings


@dataclass(frozen=True)
class Settings:
    """How a study is run; they are kept beside it, so that it can be resumed."""

    name: str
    budget: str | None = None
    data: str | None = None
    collections: Mapping[str, str] = field(default_factory=dict)
    latency: float | None = None  # milliseconds a query may take, for the frontier
    begun: str = ""
    rankwell: str = __version__


@dataclass(frozen=True)
class StudyFolder:
    """A study that was run, or is to be: its file, how it is run, its cells and its report."""

    path: Path

    @property
    def store(self) -> CellStore:
        """The cells."""
        return CellStore(self.path / CELLS)

    @property
    def exists(self) -> bool:
        """Whether a study was begun here."""
        return (self.path / SETTINGS).is_file()

    def settings(self) -> Settings:
        """How it is run."""
        try:
            return Settings(**orjson.loads((self.path / SETTINGS).read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            expected = f"the folder of a study that was run, with {SETTINGS}"
            raise RankwellError(f"{self.path}: expected {expected}, found {error}") from error

    def file(self) -> StudyFile:
        """The study as it is run here."""
        settings = self.settings()
        path = self.path / FILE
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise RankwellError(f"{path}: expected the study's file, found nothing: {error.strerror}") from error
        return parse_study(text, str(path), settings.name).within(settings.budget)

    def begin(self, file: StudyFile, settings: Settings) -> None:
        """Note what is run here; a folder with another study is left alone."""
        if self.exists:
            before = self.settings()
            if before.name != settings.name:
                found = f"expected a folder for {settings.name}, found the study {before.name}"
                raise RankwellError(f"{self.path}: {found}")
            settings = replace(settings, begun=before.begun)
        elif self.path.is_dir() and any(self.path.iterdir()):
            raise RankwellError(f"{self.path}: expected a new folder, or one of this study, found something else in it")
        with atomic_write(self.path / FILE) as target:
            target.write(file.text.encode())
        write_json(self.path / SETTINGS, {**vars(settings), "begun": settings.begun or _now()})

    def plan(self, *, quiet: bool = True) -> Plan:
        """All cells of the study."""
        settings = self.settings()
        data = Path(settings.data) if settings.data else None
        return make_plan(self.file(), Shelf(data, self.path / DATA, settings.collections, quiet))


@dataclass(frozen=True)
class Machine:
    """How much of the machine a study may take."""

    jobs: int | None = None
    threads: int | None = None

    def processes(self, work: Estimate) -> int:
        """How many cells at a time: two where it is worth it and there are cores for them."""
        if self.jobs is not None:
            return self.jobs
        return 2 if work.seconds > WORTH_PROCESSES and self.cores > 1 and work.cells > 1 else 1

    @property
    def cores(self) -> int:
        """How many threads in all."""
        return self.threads or os.cpu_count() or 1


Ask = Callable[[Estimate], bool]


def run_study(
    folder: StudyFolder, machine: Machine | None = None, *, ask: Ask | None = None, quiet: bool = False
) -> tuple[Plan, Estimate]:
    """Do what is not done yet. `ask` is given the cost first, and may say no."""
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
        with Progress(plan.file.name, unit="cells", total=len(todo), quiet=quiet) as progress:
            _do_all(todo, store, machine, machine.processes(work), progress)
    return plan, work


def _do_all(todo: list[Cell], store: CellStore, machine: Machine, processes: int, progress: Progress) -> None:
    """Everything that may run beside other work, then what must be timed alone."""
    together = [cell for cell in todo if not isinstance(cell.job, LatencyJob)]
    alone = [cell for cell in todo if isinstance(cell.job, LatencyJob)]
    if processes > 1:
        with working(processes, store.folder, max(1, machine.cores // processes)) as workers:
            waiting = list(together)
            while waiting or workers.busy:
                for cell in [cell for cell in waiting if all(map(store.finished, cell.parents))]:
                    if workers.has_room:
                        waiting.remove(cell)
                        workers.start(cell)
                progress.advance(len(workers.finished()))
    else:
        _one_by_one(together, store, machine.cores, progress)
    _one_by_one(alone, store, machine.cores, progress)


def _one_by_one(cells: list[Cell], store: CellStore, threads: int, progress: Progress) -> None:
    for cell in cells:
        try:
            store.do(cell, threads)
        except RankwellError as error:
            raise RankwellError(f"{cell.title}: {error}") from error
        progress.advance()


def versions() -> dict[str, Any]:
    """What results may depend on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"rankwell": __version__, "python": platform.python_version()}
    for name in ("numpy", "onnxruntime", "tokenizers", "torch", "transformers"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
