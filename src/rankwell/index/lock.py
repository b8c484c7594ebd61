"""One writer at a time: a lock that the operating system takes back when its holder dies."""

from __future__ import annotations

import os
from pathlib import Path

from rankwell.core import RankwellError

try:
    import fcntl
except ImportError:  # Windows: opening the lock file is all the protection there is
    fcntl = None  # type: ignore[assignment]

NAME = "write.lock"


class WriterLock:
    """Held from its making until `release`."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RankwellError(f"{folder}: cannot write here: {error.strerror}") from error
        try:
            if fcntl is not None:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise RankwellError(f"{folder}: another writer is at work: wait until it has finished") from error

    def release(self) -> None:
        """Let the next writer in."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
