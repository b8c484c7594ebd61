"""Scores on disk, so that no pair is scored twice: not by another run, not after Ctrl-C.

A SQLite file a scorer, under the scorer's fingerprint: a changed model, precision or token budget never meets old
scores. SQLite keeps them through kills and lets several processes read and add at the same time.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

from rankwell.core import RankwellError, home

log = logging.getLogger(__name__)

SUFFIX = ".sqlite3"
PATIENCE = 60.0  # seconds to wait for another process that is writing
KEY_BYTES = 16

Pair = tuple[str, str]

LARGEST = "PRAGMA max_page_count = 524288"  # of 4,096 bytes each: 2 GB, about 40 million pairs
ABOUT = "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
SCORES = "CREATE TABLE IF NOT EXISTS scores (pair BLOB PRIMARY KEY, score REAL NOT NULL) WITHOUT ROWID"


class ScoreCache:
    """The scores of one scorer. Where the file cannot be written, it says so once and remembers nothing more."""

    def __init__(self, scorer: str, folder: Path | str | None = None) -> None:
        self.path = scores_folder(folder) / f"{scorer}{SUFFIX}"
        self._scorer = scorer
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._open()
        except (OSError, sqlite3.OperationalError) as error:
            self._give_up(error)
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def get(self, pairs: Iterable[Pair]) -> dict[Pair, float]:
        """The scores of those pairs that have one."""
        if self._connection is None:
            return {}
        try:
            found = ((pair, self._one(self._connection, pair)) for pair in pairs)
            return {pair: score for pair, score in found if score is not None}
        except sqlite3.OperationalError as error:
            self._give_up(error)
            return {}
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error

    def add(self, scores: Mapping[Pair, float]) -> None:
        """Keep these scores from now on, all or none."""
        if self._connection is None:
            return
        rows = [(key(pair), score) for pair, score in scores.items()]
        try:
            with self._connection:
                self._connection.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?)", rows)
        except sqlite3.DatabaseError as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Go on without: a full disk or a folder that cannot be written is no reason to stop."""
        log.warning("%s: no more scores are kept: %s", self.path, error)
        self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @staticmethod
    def _one(connection: sqlite3.Connection, pair: Pair) -> float | None:
        row = connection.execute("SELECT score FROM scores WHERE pair = ?", (key(pair),)).fetchone()
        return None if row is None else float(row[0])

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=PATIENCE)
        try:
            connection.execute(LARGEST)
            with connection:
                connection.execute(ABOUT)
                connection.execute(SCORES)
                connection.execute("INSERT OR IGNORE INTO about VALUES ('scorer', ?)", (self._scorer,))
        except BaseException:
            connection.close()
            raise
        return connection


def key(pair: Pair) -> bytes:
    """A short name for a pair of texts; where the first one ends is part of it."""
    query, document = (text.encode("utf-8", "surrogatepass") for text in pair)
    digest = hashlib.blake2b(len(query).to_bytes(8, "little"), digest_size=KEY_BYTES)
    digest.update(query)
    digest.update(document)
    return digest.digest()


def scores_folder(folder: Path | str | None = None) -> Path:
    """Where scores are kept: the folder given, or `scores` in Rankwell's own folder."""
    return home() / "scores" if folder is None else Path(folder)


def kept_bytes(folder: Path | str | None = None) -> int:
    """How much room all kept scores take."""
    return sum(file.stat().st_size for file in _files(folder))


def clear_scores(folder: Path | str | None = None) -> None:
    """Forget all kept scores. Other processes may be using them: they go on, with nothing remembered."""
    for file in _files(folder):
        try:
            with closing(sqlite3.connect(file, timeout=PATIENCE)) as connection:
                with connection:
                    connection.execute("DELETE FROM scores")
                connection.execute("VACUUM")
        except sqlite3.OperationalError as error:
            raise RankwellError(f"{file}: cannot be cleared: {error}") from error
        except sqlite3.DatabaseError as error:
            raise _damaged(file, error) from error


def _damaged(path: Path, error: Exception) -> RankwellError:
    return RankwellError(f"{path}: expected kept scores, found a damaged file ({error}): delete it")


def _files(folder: Path | str | None) -> Sequence[Path]:
    return sorted(scores_folder(folder).glob(f"*{SUFFIX}"))
