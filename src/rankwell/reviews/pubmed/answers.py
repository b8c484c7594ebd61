"""Answers that were given once: kept in one file, found again by what was asked, never half-written."""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Self

from rankwell.core import RankwellError, fingerprint

TABLE = "CREATE TABLE IF NOT EXISTS answers (request TEXT PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID"
NAME = "answers.sqlite"
PATIENCE = 60.0  # seconds to wait for another process that writes


class AnswerCache:
    """Answers by request in a folder. Every `put` is a transaction: a kill loses no answer that was given.

    A request is a mapping without what says who asked, so that a recorded cache can be handed to others. The file is
    SQLite's: hundreds of thousands of small answers would otherwise be as many files. Threads may share a cache, and so
    may processes.
    """

    def __init__(self, folder: Path | str) -> None:
        self.path = Path(folder) / NAME
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(TABLE)
        except (sqlite3.Error, OSError) as error:
            raise RankwellError(f"{self.path}: cannot be used for answers: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self._lock, closing(self._file.execute("SELECT count(*) FROM answers")) as rows:
            return int(rows.fetchone()[0])

    def get(self, request: Mapping[str, str]) -> bytes | None:
        """The answer to a request, or None where it was not asked before (or what was kept is damaged)."""
        try:
            with self._lock:
                found = self._file.execute(
                    "SELECT answer FROM answers WHERE request = ?", (fingerprint(dict(request)),)
                ).fetchone()
            return None if found is None else zlib.decompress(found[0])
        except zlib.error:
            return None
        except sqlite3.Error as error:
            raise RankwellError(f"{self.path}: cannot be read: {error}") from error

    def put(self, request: Mapping[str, str], answer: bytes) -> None:
        """Keep an answer; one that is there already is replaced."""
        try:
            with self._lock:
                self._file.execute(
                    "INSERT OR REPLACE INTO answers VALUES (?, ?)", (fingerprint(dict(request)), zlib.compress(answer))
                )
        except sqlite3.Error as error:
            raise RankwellError(f"{self.path}: not written: {error}") from error

    def close(self) -> None:
        """Let go of the file; not under the hands of a thread that is reading, which SQLite would not survive."""
        with self._lock:
            self._file.close()
