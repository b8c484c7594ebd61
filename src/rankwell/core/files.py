"""Files that are written completely or not at all, and Rankwell's own folder."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from rankwell.core.errors import RankwellError


@contextlib.contextmanager
def atomic_write(path: Path | str) -> Iterator[BinaryIO]:
    """A binary file that is moved into place when the block ends, and removed when the block fails.

    A reader sees the old content or the new one, never a part; an interruption or a full disk loses no old content.
    A link stays a link, a file keeps its mode, and what is not a file (/dev/null, a pipe) is written directly.
    """
    path = Path(path)
    if path.is_dir():
        raise RankwellError(f"{path}: expected a place for a file, found a folder")
    in_place = path.exists() and not path.is_file()
    target = path if in_place else Path(os.path.realpath(path))
    temporary = target if in_place else target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        try:
            make_folder(target.parent)
            file = temporary.open("wb" if in_place else "xb")
        except OSError as error:
            raise RankwellError(f"{path}: cannot write here: {error.strerror}") from error
        with file:
            yield file
            file.flush()
            if not in_place:
                os.fsync(file.fileno())
        if not in_place:
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
            sync_folder(target.parent)
    except BaseException as error:  # also one that comes just after the file was made
        if not in_place:
            with contextlib.suppress(OSError):
                temporary.unlink()
        ours = isinstance(error, OSError) and error.filename in (None, str(temporary))
        if ours and isinstance(error, OSError) and error.errno is not None:
            raise RankwellError(f"{path}: not written: {error.strerror}") from error
        raise


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder durable (a no-op where folders cannot be opened, as on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Sync all files of a folder to the disk, and their names."""
    for entry in folder.rglob("*"):
        if entry.is_dir():
            sync_folder(entry)
        elif entry.is_file():
            with entry.open("rb") as opened:
                os.fsync(opened.fileno())
    sync_folder(folder)


def make_folder(path: Path) -> None:
    """Create a folder and those above it, if needed.

    New names are synced, or a power cut could take a folder away with all that was synced in it.
    """
    if path.is_dir():
        return
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(missing):
        sync_folder(folder.parent)


def home() -> Path:
    """The folder for caches and fetched models: RANKWELL_HOME, the environment's own, or the user's cache folder.

    The environment's own is the folder `rankwell` in a virtual environment, if it exists: `make setup` creates it,
    and the command of that environment finds the models there.
    """
    given = os.environ.get("RANKWELL_HOME")
    if given:
        return Path(given).expanduser()
    own = Path(sys.prefix) / "rankwell"
    if sys.prefix != sys.base_prefix and own.is_dir():
        return own
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "rankwell"
