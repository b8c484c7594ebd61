"""Folders that are either whole or not there: filled under another name, then renamed."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from rankwell.core import RankwellError
from rankwell.core.files import sync_folder


def check_new_folder(path: Path | str) -> None:
    """Refuse a place that is taken: what lies there may have taken a day to make."""
    path = Path(path)
    if path.is_dir():
        first = next(iter(sorted(entry.name for entry in path.iterdir())), None)
        if first is not None:
            raise RankwellError(f"{path}: expected an empty folder or none, found {first!r} in it")
    elif path.exists() or path.is_symlink():
        raise RankwellError(f"{path}: expected an empty folder or none, found a file")


def room_beside(path: Path | str) -> Path:
    """A folder on the same disk for what is needed meanwhile; where such things go by default may be in memory."""
    return next(folder for folder in Path(path).absolute().parents if folder.is_dir())


@contextlib.contextmanager
def new_folder(path: Path | str) -> Iterator[Path]:
    """A folder to fill, which takes its place when the block ends and leaves no trace when it fails.

    A kill leaves a hidden folder beside the place that nothing takes for a finished one. The files in it are to be
    written with `atomic_write`, or synced by whoever writes them.
    """
    path = Path(path)
    check_new_folder(path)
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        temporary.mkdir(parents=True)
    except OSError as error:
        raise RankwellError(f"{path}: cannot write here: {error.strerror}") from error
    try:
        yield temporary
        check_new_folder(path)  # somebody else may have been quicker
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
