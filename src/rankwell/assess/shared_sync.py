"""Waiting for the disk together: one fsync serves everyone who wrote before it began."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Condition


class SharedSync:
    """Makes what was written to a file survive a power cut, for many threads at the price of few.

    A disk takes milliseconds for each sync, so that writers who wait for one of their own, one after the other, are
    soon limited by it. Here whoever comes while a sync is under way shares the next one (group commit).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = Condition()
        self._begun = self._done = 0
        self._busy = False

    def wait(self) -> None:
        """Return when all that was written before the call is on the disk."""
        with self._state:
            wanted = self._begun + 1  # one that has begun already may have missed our bytes
            while self._done < wanted:
                if self._busy:
                    self._state.wait()
                else:
                    self._sync_once()

    def _sync_once(self) -> None:
        """Sync, others being let in meanwhile; a failure is raised here and makes the next one who waits try again."""
        self._busy = True
        self._begun += 1
        number = self._begun
        self._state.release()
        try:
            _sync(self.path)
        except BaseException:
            self._state.acquire()
            raise
        else:
            self._state.acquire()
            self._done = number
        finally:
            self._busy = False
            self._state.notify_all()


def _sync(path: Path) -> None:
    """SQLite removes the log when everything in it stands in the database, synced: then there is nothing to do."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
