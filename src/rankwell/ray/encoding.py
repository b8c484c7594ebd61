"""Encode texts and score pairs on a cluster: send texts, receive vectors and scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rankwell.core import RankwellError, Run
from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress
from rankwell.models.base import Truncation, load_text_encoder
from rankwell.models.base.tokens import Pair
from rankwell.models.cross_encoder.ranking import CrossEncoder, load_scorer
from rankwell.models.reranking.scores import Scorer
from rankwell.ray.cluster import Machines, On, connected
from rankwell.ray.worker import Work, added, cut_by
from rankwell.ray.workers import Workers, chunked, rounds
from rankwell.vectors import Encoder

SHOWN = 12  # characters of a fingerprint in errors


class NamedModel(Protocol):
    """A model with a fingerprint."""

    def fingerprint(self) -> str:
        """A fingerprint of everything that affects results."""


def everywhere(model: str) -> str:
    """A model's name unchanged; the full path of a folder, because workers have another working folder."""
    folder = Path(model).expanduser()
    return str(folder.resolve()) if folder.is_dir() else model


def check_same(what: str, here: NamedModel, expected: str) -> None:
    """Refuse a model, index or library that differs from the caller's."""
    found = here.fingerprint()
    if found != expected:
        raise RankwellError(
            f"{what}: expected the same as where the command was given (fingerprint {expected[:SHOWN]}), found another "
            f"one ({found[:SHOWN]}): put the same files there, and install the same version of onnxruntime"
        )


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
        """The task that does the same as this encoder."""
        options = {name: getattr(encoder, name) for name in SETTINGS}
        return cls(everywhere(encoder.model), options, encoder.fingerprint())

    def open(self, threads: int) -> Work:
        """Load the model, and check that it is the same."""
        encoder = load_text_encoder(self.model, **self.options, threads=threads)
        check_same(self.model, encoder, self.fingerprint)

        def work(texts: list[str]) -> tuple[Floats, Truncation]:
            with cut_by(encoder) as cut:
                return encoder.encode(texts), cut

        return work

    def describe(self, chunk: list[str]) -> str:
        """Describe the chunk by its first text."""
        return f'{len(chunk)} texts from "{chunk[0][:60]}"'


@contextmanager
def encoder_on(on: On, here: Encoder) -> Iterator[RemoteEncoder]:
    """An encoder that runs on the workers of a cluster."""
    with connected(on) as cluster, cluster.workers(Encoding.like(here)) as workers:
        yield RemoteEncoder(workers, here)


class RemoteEncoder:
    """Encodes documents on workers that have its `Encoding` loaded; queries here, which is faster.

    The vectors are the same as without.
    """

    def __init__(self, workers: Workers, here: Encoder) -> None:
        self._workers, self._here = workers, here
        self.model, self.dimensions = here.model, here.dimensions
        self.truncated = Truncation()
        self.at_once = rounds(workers.threads, A_THREAD)

    def __getattr__(self, name: str) -> Any:
        """Other attributes are the encoder's settings, which are stored beside its vectors."""
        return getattr(self._here, name)

    def encode(self, texts: list[str], progress: Progress = SILENT) -> Floats:
        """One row per text, encoded as a document."""
        chunks = chunked(texts, self._workers, A_THREAD) if texts else []
        found: list[Floats] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(chunks)
        for number, (vectors, cut) in self._workers.map(chunks):
            found[number] = vectors
            added(self.truncated, cut)
            progress.advance(len(vectors))
        return np.concatenate(found) if found else np.zeros((0, self.dimensions), dtype=np.float32)

    def encode_queries(self, texts: list[str]) -> Floats:
        """One row per query, encoded in this process."""
        return self._here.encode_queries(texts)

    def fingerprint(self) -> str:
        """The model's fingerprint, wherever it runs."""
        return self._here.fingerprint()


@dataclass(frozen=True)
class PairScoring:
    """Score pairs with a model that every worker has under the same name, or in the same folder."""

    model: str
    options: Mapping[str, Any]
    fingerprint: str

    def open(self, threads: int) -> Work:
        """Load the model, and check that it is the same."""
        scorer = load_scorer(self.model, **self.options, threads=threads)
        check_same(self.model, scorer, self.fingerprint)

        def work(pairs: Sequence[Pair]) -> tuple[Floats, Truncation]:
            with cut_by(scorer) as cut:
                return scorer.logits(pairs), cut

        return work

    def describe(self, chunk: Sequence[Pair]) -> str:
        """Describe the chunk by its first query."""
        return f'{len(chunk)} pairs from the query "{chunk[0][0][:60]}"'


class RemoteScorer:
    """A `Scorer` that runs on workers."""

    def __init__(self, workers: Workers, here: Scorer) -> None:
        self._workers, self._here = workers, here
        self.truncated = Truncation()
        self.at_once = rounds(workers.threads, A_THREAD)

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """A row of logits for each pair."""
        if not pairs:
            return self._here.logits(pairs)
        chunks = chunked(pairs, self._workers, A_THREAD)
        found: list[Floats] = [np.zeros(0, dtype=np.float32)] * len(chunks)
        for number, (logits, cut) in self._workers.map(chunks):
            found[number] = logits
            added(self.truncated, cut)
            progress.advance(len(logits))
        return np.concatenate(found)

    def scores(self, logits: Floats) -> Floats:
        """One score per pair to rank by."""
        return self._here.scores(logits)

    def probabilities(self, scores: Floats) -> Floats:
        """The scores as probabilities of relevance."""
        return self._here.probabilities(scores)

    def fingerprint(self) -> str:
        """The model's fingerprint, wherever it runs: cached scores are valid for both."""
        return self._here.fingerprint()


def rerank_pairs_on(cluster: Machines, reranker: CrossEncoder, run: Run) -> Run:
    """Re-rank with pairs scored by the workers of a cluster; the run is the same as without."""
    model, here = str(reranker.model), reranker.scorer()
    options = {name: getattr(reranker, name) for name in reranker.of_scorer}
    with cluster.workers(PairScoring(everywhere(model), options, here.fingerprint())) as workers:
        nothing: dict[str, Any] = dict.fromkeys((*reranker.of_scorer, "threads"))
        there = replace(reranker, model=RemoteScorer(workers, here), **nothing)
        return replace(there.apply(run), tag=reranker.name)
