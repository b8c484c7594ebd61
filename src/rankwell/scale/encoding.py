"""Encoding on a cluster: texts travel, vectors come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress
from rankwell.dense import Encoder
from rankwell.encode import Truncation, load_text_encoder
from rankwell.scale.address import Address
from rankwell.scale.cluster import Cluster, connected
from rankwell.scale.models import check_same, everywhere
from rankwell.scale.sizes import chunked, rounds
from rankwell.scale.tasks import Work
from rankwell.scale.truncation import added, cut_by
from rankwell.scale.workers import Workers

SETTINGS = ("pooling", "layer", "normalise", "precision", "query_prompt")
A_THREAD = 16  # texts of a chunk


@dataclass(frozen=True)
class Encoding:
    """Encode texts with a model that every worker has under the same name, or in the same folder."""

    model: str
    options: Mapping[str, Any]
    fingerprint: str

    @classmethod
    def like(cls, encoder: Encoder) -> Encoding:
        """What this encoder does."""
        options = {name: getattr(encoder, name) for name in SETTINGS}
        return cls(everywhere(encoder.model), options, encoder.fingerprint())

    def open(self, threads: int) -> Work:
        """Load the model, and make sure that it is the same."""
        encoder = load_text_encoder(self.model, **self.options, threads=threads)
        check_same(self.model, encoder, self.fingerprint)

        def work(texts: list[str]) -> tuple[Floats, Truncation]:
            with cut_by(encoder) as cut:
                return encoder.encode(texts), cut

        return work

    def describe(self, chunk: list[str]) -> str:
        """By its first text."""
        return f'{len(chunk)} texts from "{chunk[0][:60]}"'


@contextmanager
def encoder_on(on: str | Address | Cluster, here: Encoder) -> Iterator[RemoteEncoder]:
    """An encoder whose work is done by the workers of a cluster."""
    with connected(on) as cluster, cluster.workers(Encoding.like(here)) as workers:
        yield RemoteEncoder(workers, here)


class RemoteEncoder:
    """An encoder whose documents are encoded by others; a query is quicker here. `workers` have its `Encoding` loaded.

    The vectors are the same as without.
    """

    def __init__(self, workers: Workers, here: Encoder) -> None:
        self._workers, self._here = workers, here
        self.model, self.dimensions = here.model, here.dimensions
        self.truncated = Truncation()
        self.at_once = rounds(workers.threads, A_THREAD)

    def __getattr__(self, name: str) -> Any:
        """The settings of the encoder, which are noted beside its vectors."""
        return getattr(self._here, name)

    def encode(self, texts: list[str], progress: Progress = SILENT) -> Floats:
        """A row for each text, as documents are encoded."""
        chunks = chunked(texts, self._workers, A_THREAD) if texts else []
        found: list[Floats] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(chunks)
        for number, (vectors, cut) in self._workers.map(chunks):
            found[number] = vectors
            added(self.truncated, cut)
            progress.advance(len(vectors))
        return np.concatenate(found) if found else np.zeros((0, self.dimensions), dtype=np.float32)

    def encode_queries(self, texts: list[str]) -> Floats:
        """A row for each query."""
        return self._here.encode_queries(texts)

    def fingerprint(self) -> str:
        """That of the model, wherever it runs."""
        return self._here.fingerprint()
