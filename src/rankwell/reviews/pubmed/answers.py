"""A cache of the service's answers by request, in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from rankwell.core import RankwellError, fingerprint

ANSWERS = "CREATE TABLE IF NOT EXISTS answers (request TEXT PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID"
# Ids are never reused: two processes may handle the same answer.
RECEIVED = """CREATE TABLE IF NOT EXISTS received
              (number INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT NOT NULL, answer BLOB NOT NULL)"""
NAME = "answers.sqlite"
PATIENCE = 60.0  # seconds to wait for another process that writes


class Received(NamedTuple):
    """A raw answer that was not parsed yet."""

    number: int
    request: dict[str, str]
    answer: bytes


class AnswerCache:
    """A cache of answers by request. `receive` and `sort` return when the data are on the disk.

    A raw answer is stored first, and stored under its request once it was parsed: so a kill in between
    loses nothing, and an unreadable answer is never returned.

    A request holds neither e-mail nor API key, so that a recorded cache can be given to others. The file is
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
            self._file.execute("PRAGMA synchronous = FULL")
            for table in (ANSWERS, RECEIVED):
                self._file.execute(table)
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
        """The answer to a request; None where there is none or it is damaged."""
        try:
            with self._lock:
                row = self._file.execute(
                    "SELECT answer FROM answers WHERE request = ?", (fingerprint(dict(request)),)
                ).fetchone()
            return None if row is None else zlib.decompress(row[0])
        except zlib.error:
            return None
        except sqlite3.Error as error:
            raise RankwellError(f"{self.path}: cannot be read: {error}") from error

    def receive(self, request: Mapping[str, str], answer: bytes) -> Received:
        """Store a raw answer before it is parsed."""
        given = dict(request)
        with self._writing() as file:
            row = file.execute(
                "INSERT INTO received (request, answer) VALUES (?, ?)", (json.dumps(given), zlib.compress(answer))
            )
        return Received(int(row.lastrowid or 0), given, answer)

    def received(self) -> list[Received]:
        """The raw answers that were not sorted because of a kill."""
        with self._lock:
            rows = self._file.execute("SELECT number, request, answer FROM received ORDER BY number").fetchall()
        return [Received(number, json.loads(request), zlib.decompress(answer)) for number, request, answer in rows]

    def sort(self, received: Received, answers: Iterable[tuple[Mapping[str, str], bytes]] = ()) -> None:
        """Replace a raw answer by the answers to its requests."""
        with self._writing() as file:
            rows = [(fingerprint(dict(request)), zlib.compress(answer)) for request, answer in answers]
            file.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)
            file.execute("DELETE FROM received WHERE number = ?", (received.number,))

    def close(self) -> None:
        """Close the file, when no thread reads it any more (SQLite would crash)."""
        with self._lock:
            self._file.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: on the disk when the block ends, or rolled back."""
        try:
            with self._lock:
                self._file.execute("BEGIN IMMEDIATE")
                try:
                    yield self._file
                except BaseException:
                    self._file.execute("ROLLBACK")
                    raise
                self._file.execute("COMMIT")
        except sqlite3.Error as error:
            raise RankwellError(f"{self.path}: not written: {error}") from error
