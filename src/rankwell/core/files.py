"""Files that are either whole or not there: written beside their place, synced, then renamed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from rankwell.core.errors import RankwellError


@contextlib.contextmanager
def atomic_write(path: Path | str) -> Iterator[BinaryIO]:
    """A binary file that takes its place when the block ends, and leaves no trace when the block fails.

    A reader sees the old content or the new one, never a part; a kill or a full disk loses nothing that was there.
    """
    path = Path(path)
    if path.is_dir():
        raise RankwellError(f"{path}: expected a place for a file, found a folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise RankwellError(f"{path}: cannot write here: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield cast("BinaryIO", file)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
        sync_folder(path.parent)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None and error.errno is not None:
            raise RankwellError(f"{path}: not written: {error.strerror}") from error
        raise


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder survive a power cut (a no-op where folders cannot be opened, as on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
