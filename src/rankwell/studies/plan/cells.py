"""Cells: units of work, named by everything their result depends on. A finished cell is never run again."""

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
from rankwell.core import RankwellError, atomic_write, fingerprint, make_folder, sync_folder

VERSION = 1  # raise this when cells of the same configuration give a different result
RECORD = "cell.json"
SHORT = 20  # characters of a key in its folder's name
PART = ".part"
SCORES = "scores"


class Job(Protocol):
    """The work of a cell."""

    @property
    def kind(self) -> str:
        """The kind of work: index, vectors, run, latency, ..."""

    def configuration(self) -> dict[str, Any]:
        """Everything that the result depends on, besides the cells it needs."""

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:
        """Do the work, write files into the folder, and return facts about the result."""


@dataclass(frozen=True)
class Cell:
    """A job with the cells that must be finished before it."""

    job: Job
    parents: tuple[str, ...]
    title: str

    @cached_property
    def key(self) -> str:
        """The name of the result: equal for the same work on the same data."""
        return fingerprint(["study cell", VERSION, self.job.kind, self.job.configuration(), self.parents])

    @property
    def short(self) -> str:
        """The beginning of the key, for display."""
        return self.key[:SHORT]


class CellStore:
    """The finished cells of a study, in a folder each.

    `scores`: where scores of pairs are cached, so that an interruption loses none; beside the cells by default
    (True: in Rankwell's own folder).
    """

    def __init__(self, folder: Path, scores: Path | bool | None = None) -> None:
        self.folder = folder
        self.scores = folder.parent / SCORES if scores is None else scores

    def path(self, key: str) -> Path:
        """The folder of a cell."""
        return self.folder / key[:SHORT]

    def finished(self, key: str) -> bool:
        """Whether the cell is finished."""
        return (self.path(key) / RECORD).is_file()

    def record(self, key: str) -> dict[str, Any]:
        """The record of a finished cell."""
        file = self.path(key) / RECORD
        try:
            return dict(orjson.loads(file.read_bytes()))
        except (OSError, ValueError) as error:
            raise RankwellError(f"{file}: expected the record of a finished cell, found {error}") from error

    def records(self) -> Iterator[dict[str, Any]]:
        """The records of all finished cells."""
        for file in sorted(self.folder.glob(f"*/{RECORD}")):
            if not file.parent.name.endswith(PART):  # interrupted before it was moved into place
                yield self.record(file.parent.name)

    def find(self, beginning: str) -> dict[str, Any]:
        """The record of the one finished cell whose key begins like this."""
        records = [record for record in self.records() if record["key"].startswith(beginning)]
        if len(records) != 1 or not beginning:
            problem = "none" if not records else f"{len(records)} of them"
            raise RankwellError(f"{self.folder}: expected one cell whose name begins with {beginning}, found {problem}")
        return records[0]

    def do(self, cell: Cell, threads: int) -> dict[str, Any]:
        """Run a cell; its folder appears only when it is complete."""
        place = self.path(cell.key)
        part = place.with_name(place.name + PART)
        shutil.rmtree(part, ignore_errors=True)
        make_folder(part)
        begun = time.perf_counter()
        try:
            result = cell.job.work(self, part, threads)
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
                **result,
            }
            write_json(part / RECORD, record)
            shutil.rmtree(place, ignore_errors=True)  # an interrupted run may leave a folder without a record
            part.rename(place)
            sync_folder(self.folder)
        except BaseException:
            with contextlib.suppress(OSError):
                shutil.rmtree(part)
            raise
        return record

    def clean(self) -> None:
        """Remove the rest of interrupted runs; only the one writer may call this."""
        for folder in self.folder.glob(f"*{PART}"):
            shutil.rmtree(folder, ignore_errors=True)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a readable JSON file atomically."""
    with atomic_write(path) as file:
        file.write(orjson.dumps(dict(content), option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY) + b"\n")
