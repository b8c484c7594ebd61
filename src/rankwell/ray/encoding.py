"""Encode texts and score pairs on a cluster: send texts, receive vectors and scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rankwell.core import SILENT, Floats, Progress, RankwellError, Run
from rankwell.models.base import Truncation, load_text_encoder
from rankwell.models.base.tokens import Pair
from rankwell.models.cross_encoder.ranking import CrossEncoder, load_scorer
from rankwell.models.reranking.scores import Scorer
from rankwell.ray.cluster import Machines, On, connected
from rankwell.ray.worker import Work
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
    fingerprint = here.fingerprint()
    if fingerprint != expected:
        raise RankwellError(
            f"{what}: expected the same as where the command was given (fingerprint {expected[:SHOWN]}), found another "
            f"one ({fingerprint[:SHOWN]}): put the same files there, and install the same version of onnxruntime"
        )


CUT = tuple(part.name for part in fields(Truncation))


@contextmanager
def growth(counter: Callable[[], Any], names: Sequence[str]) -> Iterator[dict[str, int]]:
    """How much the numbers of a counter grow while the block runs; filled in at its end."""
    before, grown = replace(counter()), dict[str, int]()
    yield grown
    grown.update({name: getattr(counter(), name) - getattr(before, name) for name in names})


def add(counter: Any, counts: Mapping[str, int]) -> None:
    """Add to the numbers of a counter."""
    for name, count in counts.items():
        setattr(counter, name, getattr(counter, name) + count)


SETTINGS = ("pooling", "layer", "normalise", "precision", "query_prompt", "document_prompt")
A_THREAD = 16  # texts or pairs of a chunk


@dataclass(frozen=True)
class ModelTask(ABC):
    """A task with a model that every worker has under the same name, or in the same folder."""

    model: str
    options: Mapping[str, Any]
    fingerprint: str

    def open(self, threads: int) -> Work:
        """Load the model, and check that it is the same."""
        model, compute = self._load(threads)
        check_same(self.model, model, self.fingerprint)

        def work(inputs: Sequence[Any]) -> tuple[Floats, dict[str, int]]:
            with growth(lambda: model.truncated, CUT) as cut:
                return compute(inputs), cut

        return work

    @abstractmethod
    def _load(self, threads: int) -> tuple[Any, Callable[[Any], Floats]]:
        """The model, and its function from inputs to rows."""


class Encoding(ModelTask):
    """Encode texts."""

    @classmethod
    def like(cls, encoder: Encoder) -> Encoding:
        """The task that does the same as this encoder."""
        options = {name: getattr(encoder, name) for name in SETTINGS}
        return cls(everywhere(encoder.model), options, encoder.fingerprint())

    def _load(self, threads: int) -> tuple[Any, Callable[[Any], Floats]]:
        encoder = load_text_encoder(self.model, **self.options, threads=threads)
        return encoder, encoder.encode

    def describe(self, chunk: list[str]) -> str:
        """Describe the chunk by its first text."""
        return f'{len(chunk)} texts from "{chunk[0][:60]}"'


class PairScoring(ModelTask):
    """Score pairs of query and document."""

    def _load(self, threads: int) -> tuple[Any, Callable[[Any], Floats]]:
        scorer = load_scorer(self.model, **self.options, threads=threads)
        return scorer, scorer.logits

    def describe(self, chunk: Sequence[Pair]) -> str:
        """Describe the chunk by its first query."""
        return f'{len(chunk)} pairs from the query "{chunk[0][0][:60]}"'


class _RemoteModel:
    """A model on workers that have its task loaded; `here` is the same model in this process."""

    def __init__(self, workers: Workers, here: Encoder | Scorer) -> None:
        self._workers = workers
        self.truncated = Truncation()
        self.at_once = rounds(workers.threads, A_THREAD)
        self.fingerprint = here.fingerprint  # wherever it runs: cached scores are valid for both

    def _rows(self, inputs: Sequence[Any], progress: Progress) -> Floats:
        chunks = chunked(inputs, self._workers, A_THREAD)
        parts: list[Floats] = [np.zeros(0, dtype=np.float32)] * len(chunks)
        for number, (rows, cut) in self._workers.map(chunks):
            parts[number] = rows
            add(self.truncated, cut)
            progress.advance(len(rows))
        return np.concatenate(parts)


class RemoteEncoder(_RemoteModel):
    """Encodes documents on workers that have its `Encoding` loaded; queries here, which is faster.

    The vectors are the same as without.
    """

    def __init__(self, workers: Workers, here: Encoder) -> None:
        super().__init__(workers, here)
        self._here, self.model, self.dimensions = here, here.model, here.dimensions
        self.encode_queries = here.encode_queries

    def __getattr__(self, name: str) -> Any:
        """Other attributes are the encoder's settings, which are stored beside its vectors."""
        return getattr(self._here, name)

    def encode(self, texts: list[str], progress: Progress = SILENT) -> Floats:
        """One row per text, encoded as a document."""
        return self._rows(texts, progress) if texts else np.zeros((0, self.dimensions), dtype=np.float32)


class RemoteScorer(_RemoteModel):
    """A `Scorer` that runs on workers."""

    def __init__(self, workers: Workers, here: Scorer) -> None:
        super().__init__(workers, here)
        self._here, self.scores, self.probabilities = here, here.scores, here.probabilities

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """A row of logits for each pair."""
        return self._rows(pairs, progress) if pairs else self._here.logits(pairs)


@contextmanager
def encoder_on(on: On, here: Encoder) -> Iterator[RemoteEncoder]:
    """An encoder that runs on the workers of a cluster."""
    with connected(on) as cluster, cluster.workers(Encoding.like(here)) as workers:
        yield RemoteEncoder(workers, here)


def rerank_pairs_on(cluster: Machines, reranker: CrossEncoder, run: Run) -> Run:
    """Re-rank with pairs scored by the workers of a cluster; the run is the same as without."""
    model, here = str(reranker.model), reranker.scorer()
    options = {name: getattr(reranker, name) for name in reranker.of_scorer}
    with cluster.workers(PairScoring(everywhere(model), options, here.fingerprint())) as workers:
        nothing: dict[str, Any] = dict.fromkeys((*reranker.of_scorer, "threads"))
        there = replace(reranker, model=RemoteScorer(workers, here), **nothing)
        return replace(there.apply(run), tag=reranker.name)
