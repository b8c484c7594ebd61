"""Cells: pieces of work under a name that says all they depend on. What is finished is never done again."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import orjson

from rankwell import __version__
from rankwell.core import RankwellError, atomic_write, fingerprint
from rankwell.core.files import sync_folder

VERSION = 1  # raised when cells of the same configuration begin to give another result
RECORD = "cell.json"
SHORT = 20  # letters of a key that name its folder
PART = ".part"
SCORES = "scores"


class Job(Protocol):
    """What a cell does."""

    @property
    def kind(self) -> str:
        """index, vectors, run, latency, ..."""

    def configuration(self) -> dict[str, Any]:
        """Everything that the result depends on, besides the cells before it."""

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:
        """Do it, leave files in the folder, and return what is to be known of the result."""


@dataclass(frozen=True)
class Cell:
    """A job with the cells that must be finished before it."""

    job: Job
    parents: tuple[str, ...]
    title: str

    @cached_property
    def key(self) -> str:
        """The name of the result: equal for equal work on equal data."""
        return fingerprint(["study cell", VERSION, self.job.kind, self.job.configuration(), self.parents])

    @property
    def short(self) -> str:
        """The beginning of the key, which is enough for people."""
        return self.key[:SHORT]


class CellStore:
    """The finished cells of a study, a folder each.

    `scores`: where pairs that were scored are kept, so that a kill loses none of them; beside the cells unless it is
    said (True: in Rankwell's own folder).
    """

    def __init__(self, folder: Path, scores: Path | bool | None = None) -> None:
        self.folder = folder
        self.scores = folder.parent / SCORES if scores is None else scores

    def path(self, key: str) -> Path:
        """Where a cell's files are."""
        return self.folder / key[:SHORT]

    def finished(self, key: str) -> bool:
        """Whether it is done."""
        return (self.path(key) / RECORD).is_file()

    def record(self, key: str) -> dict[str, Any]:
        """What is known of a finished cell."""
        file = self.path(key) / RECORD
        try:
            return dict(orjson.loads(file.read_bytes()))
        except (OSError, ValueError) as error:
            raise RankwellError(f"{file}: expected the record of a finished cell, found {error}") from error

    def records(self) -> Iterator[dict[str, Any]]:
        """All finished cells."""
        for file in sorted(self.folder.glob(f"*/{RECORD}")):
            yield self.record(file.parent.name)

    def find(self, beginning: str) -> dict[str, Any]:
        """The one finished cell whose key begins so."""
        found = [record for record in self.records() if record["key"].startswith(beginning)]
        if len(found) != 1 or not beginning:
            problem = "none" if not found else f"{len(found)} of them"
            raise RankwellError(f"{self.folder}: expected one cell whose name begins with {beginning}, found {problem}")
        return found[0]

    def do(self, cell: Cell, threads: int) -> dict[str, Any]:
        """Do a cell's work; its folder is in its place when all of it is there, and not before."""
        place = self.path(cell.key)
        part = place.with_name(place.name + PART)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        begun = time.perf_counter()
        try:
            found = cell.job.work(self, part, threads)
            record = {
                "key": cell.key,
                "kind": cell.job.kind,
                "title": cell.title,
                "configuration": cell.job.configuration(),
                "parents": list(cell.parents),
                "seconds": time.perf_counter() - begun,
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
                "rankwell": __version__,
                "cell_version": VERSION,
                "threads": threads,
                **found,
            }
            write_json(part / RECORD, record)
            shutil.rmtree(place, ignore_errors=True)  # what a kill may have left without a record
            part.rename(place)
            sync_folder(self.folder)
        except BaseException:
            with contextlib.suppress(OSError):
                shutil.rmtree(part)
            raise
        return record

    def clean(self) -> None:
        """Remove what kills have left behind; call it only as the one who writes here."""
        for folder in self.folder.glob(f"*{PART}"):
            shutil.rmtree(folder, ignore_errors=True)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """A readable JSON file, in its place when it is whole."""
    with atomic_write(path) as file:
        file.write(orjson.dumps(dict(content), option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY) + b"\n")
