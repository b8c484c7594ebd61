"""The index of a server: its last commit, opened anew when there is a later one."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from threading import Lock

from rankwell.clickhouse import ClickHouseIndex, open_index
from rankwell.core import Document, RankwellError
from rankwell.index import MATCHES, Index, IndexWriter, Scoring
from rankwell.index.loading import kernels
from rankwell.index.manifest import NAME

FEW = 16  # documents, enough for every way of searching
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


def warm_up(*, everything: bool = False) -> None:
    """Load the kernels of search, or compile them the first time on a machine, by searching an index of a few words.

    Whoever searched before that would wait for all of it, and for longer than a request may take. What most searches
    need comes first; the rest (`everything`) may be compiled while they are answered.
    """
    kernels()
    ways = [(match, prune) for match in MATCHES for prune in (True, False)] if everything else [("or", True)]
    with tempfile.TemporaryDirectory() as folder:
        with IndexWriter(folder) as writer:
            writer.add_all(Document(str(number), {"text": f"one word {number}"}) for number in range(FEW))
        index = Index.open(folder)
        for match, prune in ways:
            index.search("one word", 1, Scoring(match=match), prune=prune)
