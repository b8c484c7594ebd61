"""The index of a server: its last commit, opened anew when there is a later one."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Lock

from rankwell.clickhouse import ClickHouseIndex, open_index
from rankwell.core import RankwellError
from rankwell.index import Index
from rankwell.index.manifest import NAME

EVERY = 1.0  # seconds between two looks for commits of other programs


class OpenIndex:
    """The last commit. Whoever has taken an index from here keeps it; later requests get the later one."""

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._lock = Lock()
        self._index = open_index(path)
        self._seen = self._mark()
        self._next = time.monotonic() + EVERY

    @property
    def current(self) -> Index:
        """The last commit; commits of other programs are seen after a second."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + EVERY
            if self._mark() != self._seen:
                self.refresh()
        return self._index

    def refresh(self) -> Index:
        """Look for a later commit at once: who has just committed calls this."""
        with self._lock:
            mark = self._mark()  # before opening: a commit in between is found the next time
            if mark != self._seen:
                try:
                    self._index = open_index(self._path)
                except RankwellError:
                    return self._index  # half of another program's work; what is open stays good
                self._seen = mark
            return self._index

    def _mark(self) -> tuple[int, int, int]:
        """What changes with every commit: the manifest is replaced, never written in place."""
        if isinstance(self._index, ClickHouseIndex):
            return self._index.last_commit(), 0, 0
        try:
            found = (Path(self._path) / NAME).stat()
        except OSError:
            return 0, 0, 0
        return found.st_mtime_ns, found.st_ino, found.st_size
