"""Folders and checkpoints that are complete or absent: written under another name, then renamed."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankwell.core import RankwellError, make_folder, sync_folder, sync_tree

PREFIX = "checkpoint-"
STAGING, LEAVING = ".saving", ".leaving"


class Checkpoints:
    """The checkpoints in a folder, by step."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def steps(self) -> list[int]:
        """The steps with a complete checkpoint, ascending."""
        names = (entry.name.removeprefix(PREFIX) for entry in self.path.glob(f"{PREFIX}*"))
        return sorted(int(name) for name in names if name.isdecimal())

    def at(self, step: int) -> Path:
        """The path of a step's checkpoint."""
        return self.path / f"{PREFIX}{step}"

    def newest(self) -> Path | None:
        """The last complete checkpoint, or None."""
        steps = self.steps()
        return self.at(steps[-1]) if steps else None

    @contextmanager
    def saving(self, step: int) -> Iterator[Path]:
        """A folder for the checkpoint of a step; it is moved into place when the block ends.

        The block writes to `checkpoint-N` in the given folder.
        """
        staging = self.path / STAGING
        shutil.rmtree(staging, ignore_errors=True)
        try:
            make_folder(staging)
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
        """Remove the checkpoints of all other steps."""
        for step in set(self.steps()) - steps:
            self._remove(self.at(step))

    def tidy(self) -> None:
        """Remove incomplete checkpoints of an interrupted run."""
        for name in (STAGING, LEAVING):
            shutil.rmtree(self.path / name, ignore_errors=True)

    def _remove(self, checkpoint: Path) -> None:
        """Rename, sync, then remove: a half-removed checkpoint must not look complete."""
        if not checkpoint.exists():
            return
        leaving = self.path / LEAVING
        shutil.rmtree(leaving, ignore_errors=True)
        checkpoint.rename(leaving)
        sync_folder(self.path)
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
    """Whether an error is a failed write: the system, torch and safetensors each have their own."""
    return isinstance(error, (OSError, RuntimeError)) or type(error).__name__ == "SafetensorError"


def check_new_folder(path: Path | str) -> None:
    """Refuse a path that exists: its content may have taken a day to compute."""
    path = Path(path)
    if path.is_dir():
        first = next(iter(sorted(entry.name for entry in path.iterdir())), None)
        if first is not None:
            raise RankwellError(f"{path}: expected an empty folder or none, found {first!r} in it")
    elif path.exists() or path.is_symlink():
        raise RankwellError(f"{path}: expected an empty folder or none, found a file")


def room_beside(path: Path | str) -> Path:
    """A temporary folder on the same disk; the system's default may be in memory."""
    return next(folder for folder in Path(path).absolute().parents if folder.is_dir())


@contextmanager
def new_folder(path: Path | str) -> Iterator[Path]:
    """A folder to fill; it is moved into place when the block ends, and removed when the block fails.

    An interruption leaves a hidden folder beside the place, which is never mistaken for a finished one. Write the
    files in it with `atomic_write`, or sync them.
    """
    path = Path(path)
    check_new_folder(path)
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        make_folder(path.parent)
        temporary.mkdir()
    except OSError as error:
        raise RankwellError(f"{path}: cannot write here: {error.strerror}") from error
    try:
        yield temporary
        check_new_folder(path)  # another process may have been faster
        sync_folder(temporary)
        if path.is_dir():
            path.rmdir()
        temporary.rename(path)
        sync_folder(path.parent)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError) and error.errno is not None and not isinstance(error, RankwellError):
            raise RankwellError(f"{path}: not written: {error.strerror}") from error
        raise
