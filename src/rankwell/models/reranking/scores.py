"""Cached scores of pairs: each is computed once and stored on disk."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import numpy as np

from rankwell.core import SILENT, Floats, Progress, RankwellError, home
from rankwell.models.base.tokens import Pair, Truncation

log = logging.getLogger(__name__)

SUFFIX = ".sqlite3"
PATIENCE = 60.0  # seconds to wait for another process that is writing
KEY_BYTES = 16

LARGEST = "PRAGMA max_page_count = 524288"  # of 4,096 bytes each: 2 GB, about 40 million pairs
ABOUT = "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
SCORES = "CREATE TABLE IF NOT EXISTS scores (pair BLOB PRIMARY KEY, score REAL NOT NULL) WITHOUT ROWID"


class ScoreCache:
    """The cached scores of one scorer. Where the file cannot be written, it warns once and caches nothing more."""

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

    def __exit__(self, *_: object) -> None:
        self._close()

    def get(self, pairs: Iterable[Pair]) -> dict[Pair, float]:
        """The scores of the pairs that are in the cache."""
        if self._connection is None:
            return {}
        ask = self._connection.execute
        try:
            rows = ((pair, ask("SELECT score FROM scores WHERE pair = ?", (key(pair),)).fetchone()) for pair in pairs)
            return {pair: float(row[0]) for pair, row in rows if row is not None}
        except sqlite3.OperationalError as error:
            self._give_up(error)
            return {}
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error

    def add(self, scores: Mapping[Pair, float]) -> None:
        """Store these scores, all or none."""
        if self._connection is None:
            return
        rows = [(key(pair), score) for pair, score in scores.items()]
        try:
            with self._connection:
                self._connection.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?)", rows)
        except sqlite3.DatabaseError as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Continue without cache: a full disk or a read-only folder must not stop the ranking."""
        log.warning("%s: no more scores are kept: %s", self.path, error)
        self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

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
    """A hash of a query and a document's texts, with their boundaries."""
    query, document = pair
    *others, last = (query, document) if isinstance(document, str) else (query, *document, "")
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    for text in others:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    digest.update(last.encode("utf-8", "surrogatepass"))
    return digest.digest()


def scores_folder(folder: Path | str | None = None) -> Path:
    """The folder of the score cache: the one given, or `scores` in Rankwell's own folder."""
    return home() / "scores" if folder is None else Path(folder)


def kept_bytes(folder: Path | str | None = None) -> int:
    """Bytes used by all cached scores."""
    return sum(file.stat().st_size for file in _files(folder))


def clear_scores(folder: Path | str | None = None) -> None:
    """Delete all cached scores. Other processes that use them continue without."""
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


@runtime_checkable
class Scorer(Protocol):
    """Scores pairs of query and document. The score of a pair does not depend on other pairs."""

    @property
    def truncated(self) -> Truncation:
        """How much text was truncated so far."""

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """A row of logits for each pair."""

    def scores(self, logits: Floats) -> Floats:
        """One score per pair to rank by."""

    def probabilities(self, scores: Floats) -> Floats:
        """The scores as probabilities of relevance."""

    def fingerprint(self) -> str:
        """An id that differs for each model and configuration."""


@dataclass
class Tally:
    """Counts over all runs of a stage."""

    documents: int = 0  # documents with a new score
    pairs: int = 0  # different pairs of query and text
    kept: int = 0  # pairs whose scores were cached
    empty: int = 0  # documents without text, which stay below
    seconds: float = 0.0

    @property
    def scored(self) -> int:
        """Number of pairs that the model scored."""
        return self.pairs - self.kept

    def __str__(self) -> str:
        before = f" ({self.kept:,} scored earlier)" if self.kept else ""
        speed = f", {self.scored / max(self.seconds, 1e-9):,.0f} pairs/s" if self.scored else ""
        return f"{self.documents:,} documents, {self.pairs:,} pairs{before}, {self.seconds:.1f} s{speed}"


CHUNK = 128  # pairs between two writes to the cache: every few seconds; a scorer may ask for more `at_once`


class PairScores:
    """Gives pairs their scores, from the cache or from the model."""

    def __init__(self, scorer: Scorer, cache: ScoreCache | None, tally: Tally, progress: Progress) -> None:
        self.scorer, self._cache, self._tally, self.progress = scorer, cache, tally, progress
        self._chunk = wanted_at_once(scorer, CHUNK)

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """The score of each pair."""
        unique = list(dict.fromkeys(pairs))
        known = self._cache.get(unique) if self._cache else {}
        new = [pair for pair in unique if pair not in known]
        self.progress.advance(len(pairs) - len(new))
        self._tally.pairs += len(unique)
        self._tally.kept += len(unique) - len(new)
        for start in range(0, len(new), self._chunk):
            known |= self._score(new[start : start + self._chunk])
        return np.array([known[pair] for pair in pairs], dtype=np.float32)

    def _score(self, pairs: list[Pair]) -> dict[Pair, float]:
        """Score pairs and store the scores."""
        scores = self.scorer.scores(self.scorer.logits(pairs, self.progress))
        wrong = np.flatnonzero(~np.isfinite(scores))
        if len(wrong):
            query, document = pairs[wrong[0]]
            raise RankwellError(
                f"model: expected finite scores, found {scores[wrong[0]]} for the query {query[:60]!r} "
                f"and the document {document[:60]!r} ({len(wrong):,} of {len(pairs):,} pairs)"
            )
        new = dict(zip(pairs, scores.tolist(), strict=True))
        if self._cache:
            self._cache.add(new)
        return new


def wanted_at_once(scorer: Scorer, usual: int) -> int:
    """Number of pairs per call of a scorer: more than usual where many workers share them."""
    return int(getattr(scorer, "at_once", usual))


@contextmanager
def reported(scorer: Scorer, tally: Tally) -> Iterator[None]:
    """Measure the time, and report truncated text at the end."""
    started, cut, kept = time.perf_counter(), replace(scorer.truncated), tally.kept
    try:
        yield
    finally:
        tally.seconds += time.perf_counter() - started
    told = scorer.truncated - cut
    if told.documents_cut or told.queries_cut:
        others = f" (not counting {tally.kept - kept:,} scored earlier)" if tally.kept > kept else ""
        log.warning("%s%s", told, others)
