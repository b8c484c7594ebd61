"""BERT vectors of records, cached on the disk."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import SILENT, ParameterError, Phrase, Progress, RankwellError, home

if TYPE_CHECKING:
    from rankwell.models.base import TextEncoder


Vectors = npt.NDArray[np.float32]  # one of them, or a row each
FOLDER = "vectors"
PATIENCE = 60.0  # seconds to wait for another process that is writing
KEY_BYTES = 16
TABLE = "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"


class VectorCache:
    """The cached vectors of one encoder. Every call opens the file, so that threads may share a cache."""

    def __init__(self, encoder: str, dimensions: int, folder: Path | None = None) -> None:
        self.path = (folder or home() / FOLDER) / f"{encoder}.sqlite"
        self.dimensions = dimensions

    def get(self, texts: Iterable[str]) -> dict[str, Vectors]:
        """The vectors of the texts that are in the cache."""
        if not self.path.is_file():
            return {}
        vectors: dict[str, Vectors] = {}
        with self._opened() as file:
            for text in texts:
                row = file.execute("SELECT vector FROM vectors WHERE text = ?", (_key(text),)).fetchone()
                if row is not None and len(row[0]) == 4 * self.dimensions:
                    vectors[text] = np.frombuffer(row[0], dtype="<f4")
        return vectors

    def add(self, vectors: Mapping[str, Vectors]) -> None:
        """Store these vectors in one transaction."""
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


MODEL = "minilm-l6"
"""What reads where no other model is named: small, and trained to bring texts of one meaning together."""
AT_ONCE = 32  # texts in a batch; a kill loses at most one batch


class StoppedError(Exception):
    """The reader was stopped before all texts were encoded."""


@dataclass(frozen=True)
class Reader:
    """Encodes texts with a local model, and caches the vectors."""

    encoder: TextEncoder
    cache: VectorCache

    @classmethod
    def open(cls, model: str = MODEL, *, threads: int | None = None) -> Reader:
        """A reader with this model: a short name or a folder; an error says how to fetch a missing one."""
        from rankwell.models.base import load_text_encoder

        encoder = load_text_encoder(model, threads=threads)
        return cls(encoder, VectorCache(encoder.fingerprint(), encoder.dimensions))

    def read(
        self, texts: Sequence[str], progress: Progress = SILENT, *, stopped: Callable[[], bool] = lambda: False
    ) -> Vectors:
        """A vector for each text; those in the cache are not computed again."""
        known = self.cache.get(dict.fromkeys(texts))
        progress.advance(sum(text in known for text in texts))
        left = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(left), AT_ONCE):
            if stopped():
                raise StoppedError
            some = left[start : start + AT_ONCE]
            vectors: dict[str, Vectors] = dict(zip(some, self.encoder.encode(some), strict=True))
            self.cache.add(vectors)
            known |= vectors
            progress.advance(len(some))
        if not texts:
            return np.zeros((0, self.encoder.dimensions), dtype=np.float32)
        return np.stack([known[text] for text in texts])


SHARE = 0.5
"""The length of a record's vector beside its words, whose row has length 1."""


class Meaning(NamedTuple):
    """The vectors of the records and of the review's title, and the model's name."""

    records: Vectors
    topic: Vectors
    model: str = ""


def with_meaning(rows: Any, topic: Any, meaning: Meaning, share: float = SHARE) -> tuple[Any, Any]:
    """The features of `text_features` with the vectors as further columns.

    The vectors of one review's texts are all similar: their mean is subtracted first, and the
    rest is scaled to the length `share`. So a product of two rows is  cosine of words + share^2 * cosine of vectors.
    """
    from scipy.sparse import csr_matrix, hstack

    if len(meaning.records) != rows.shape[0]:
        found = Phrase(f"{rows.shape[0]} records, {len(meaning.records)} vectors")
        raise ParameterError("meaning", expected="a vector for every record", found=found)
    mean = meaning.records.mean(axis=0)
    both = ((rows, meaning.records), (topic, meaning.topic.reshape(1, -1)))
    wide = [hstack([words, csr_matrix(_length(vectors - mean, share))]).tocsr() for words, vectors in both]
    return wide[0], wide[1]


def _length(vectors: Vectors, length: float) -> Any:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return length * vectors.astype(np.float64) / np.maximum(norms, 1e-12)
