"""Vectors on disk, so that no record is read twice by the same model: not by another start, not after a kill.

A SQLite file for each encoder under its fingerprint, so that another model never meets these vectors. Each vector
stands under a digest of its text: projects and simulations share them, and the texts themselves are not in the file.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankwell.core import RankwellError, home

Vector = npt.NDArray[np.float32]

FOLDER = "vectors"
PATIENCE = 60.0  # seconds to wait for another process that is writing
KEY_BYTES = 16
TABLE = "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"


class VectorCache:
    """The vectors of one encoder. Every call opens the file for itself, so that threads may share a cache."""

    def __init__(self, encoder: str, dimensions: int, folder: Path | None = None) -> None:
        self.path = (folder or home() / FOLDER) / f"{encoder}.sqlite"
        self.dimensions = dimensions

    def get(self, texts: Iterable[str]) -> dict[str, Vector]:
        """The vectors of those texts that have one."""
        if not self.path.is_file():
            return {}
        found: dict[str, Vector] = {}
        with self._opened() as file:
            for text in texts:
                row = file.execute("SELECT vector FROM vectors WHERE text = ?", (_key(text),)).fetchone()
                if row is not None and len(row[0]) == 4 * self.dimensions:
                    found[text] = np.frombuffer(row[0], dtype="<f4")
        return found

    def add(self, vectors: Mapping[str, Vector]) -> None:
        """Keep these, all or none."""
        rows = [(_key(text), vector.astype("<f4").tobytes()) for text, vector in vectors.items()]
        with self._opened() as file, file:
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=PATIENCE)) as file:
                file.execute(TABLE)
                yield file
        except (sqlite3.Error, OSError) as error:
            raise RankwellError(f"{self.path}: cannot be used for vectors: {error}") from error


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
