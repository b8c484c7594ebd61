"""Waiting for the disk together: one fsync serves everyone who wrote before it began."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from threading import Condition


class SharedSync:
    """Makes what was written to SQLite's log survive a power cut, for many threads at the price of few.

    A disk takes milliseconds for each sync, so that writers who wait for one of their own, one after the other, are
    soon limited by it. Here whoever comes while a sync is under way shares the next one (group commit).

    What left the log before we came is as safe: with `synchronous = NORMAL` SQLite syncs the log before a checkpoint
    copies it into the database, and the database before the log is begun anew. Nor do we take a lock from it by closing
    the file (POSIX drops all of a process's locks on a file then): SQLite locks its other files, never the log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = Condition()
        self._begun = self._done = 0
        self._busy = False
        self._failure: OSError | None = None
        self._file: int | None = None

    def wait(self) -> None:
        """Return when all that was written before the call is on the disk; an `OSError` where that is not known.

        After a sync that failed there is no second try, for anybody: the system has forgotten which bytes are not on
        the disk, and the next sync would succeed without them (Rebello et al., "Can applications recover from fsync
        failures?", USENIX ATC 2020). Whoever opens the database again finds what is there.
        """
        with self._state:
            wanted = self._begun + 1  # one that has begun already may have missed our bytes
            while self._done < wanted:
                if self._failure is not None:
                    told = f"the disk failed to keep a write before: {self._failure.strerror}; start again"
                    raise OSError(errno.EIO, told, str(self.path)) from self._failure
                if self._busy:
                    self._state.wait()
                else:
                    self._sync_once()

    def close(self) -> None:
        """Let go of the file, when nobody waits any more."""
        with self._state:
            self._let_go()

    def _sync_once(self) -> None:
        """Sync, others being let in meanwhile."""
        self._busy = True
        self._begun += 1
        number = self._begun
        self._state.release()
        failure: OSError | None = None
        finished = False
        try:
            self._sync()
            finished = True
        except OSError as error:
            failure = error
            raise
        finally:
            self._state.acquire()
            self._failure = failure
            self._done = number if finished else self._done
            self._busy = False
            self._state.notify_all()

    def _sync(self) -> None:
        """Sync the log as it is now.

        SQLite removes it when everything in it stands in the database, synced: then there is nothing to do. Otherwise
        the file stays open between syncs, as the system tells a failure to those who had the file open at the time.
        """
        try:
            now = self.path.stat()
        except FileNotFoundError:
            self._let_go()
            return
        if self._file is not None and not os.path.samestat(os.fstat(self._file), now):
            self._let_go()
        if self._file is None:
            try:
                self._file = os.open(self.path, os.O_RDWR)
            except FileNotFoundError:
                return
        os.fsync(self._file)

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
