"""Checkpoints that are whole or not there: written beside their place, synced, then renamed.

A kill at any moment leaves the newest complete one to go on from; a full disk leaves the one before.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankwell.core import RankwellError
from rankwell.core.files import sync_folder

PREFIX = "checkpoint-"
STAGING, LEAVING = ".saving", ".leaving"


class Checkpoints:
    """The checkpoints below a folder, by step."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def steps(self) -> list[int]:
        """The steps with a complete checkpoint, in order."""
        names = (entry.name.removeprefix(PREFIX) for entry in self.path.glob(f"{PREFIX}*"))
        return sorted(int(name) for name in names if name.isdecimal())

    def at(self, step: int) -> Path:
        """Where the checkpoint of a step lies."""
        return self.path / f"{PREFIX}{step}"

    def newest(self) -> Path | None:
        """The last complete one."""
        steps = self.steps()
        return self.at(steps[-1]) if steps else None

    @contextmanager
    def saving(self, step: int) -> Iterator[Path]:
        """A folder to write the checkpoint of a step into; it takes its place when the block ends.

        The block writes to `checkpoint-N` in the folder that it is given.
        """
        staging = self.path / STAGING
        shutil.rmtree(staging, ignore_errors=True)
        try:
            staging.mkdir(parents=True)
            yield staging
            made = staging / f"{PREFIX}{step}"
            sync_tree(made)
            self._remove(self.at(step))
            made.rename(self.at(step))
            sync_folder(self.path)
        except Exception as error:
            if not is_of_writing(error):
                raise
            raise RankwellError(self._failure(step, error)) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def keep(self, steps: set[int]) -> None:
        """Remove all others."""
        for step in set(self.steps()) - steps:
            self._remove(self.at(step))

    def tidy(self) -> None:
        """Remove what a kill left half-written or half-removed."""
        for name in (STAGING, LEAVING):
            shutil.rmtree(self.path / name, ignore_errors=True)

    def _remove(self, checkpoint: Path) -> None:
        """Renamed first: a checkpoint that is half gone must not look like one."""
        if not checkpoint.exists():
            return
        leaving = self.path / LEAVING
        shutil.rmtree(leaving, ignore_errors=True)
        checkpoint.rename(leaving)
        shutil.rmtree(leaving, ignore_errors=True)

    def _failure(self, step: int, error: Exception) -> str:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error).splitlines()[0]
        newest = self.newest()
        before = f"the one before, {newest}, is whole" if newest else "there is none before it"
        free = shutil.disk_usage(self.path if self.path.exists() else self.path.parent).free
        return (
            f"{self.at(step)}: not written: {reason} ({free / 1e6:,.0f} MB free); {before}: make room, then "
            f"rankwell train resume {self.path.parent}"
        )


def is_of_writing(error: Exception) -> bool:
    """Whether an error says that a file could not be written: system, torch and safetensors each have their own."""
    return isinstance(error, (OSError, RuntimeError)) or type(error).__name__ == "SafetensorError"


def sync_tree(folder: Path) -> None:
    """Make every file of a folder survive a power cut."""
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
    sync_folder(folder)
