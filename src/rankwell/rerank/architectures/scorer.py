"""Scoring examples with a trained architecture, by ONNX Runtime."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import RankwellError, fingerprint
from rankwell.core.arrays import Floats
from rankwell.core.fingerprint import fingerprint_file
from rankwell.core.progress import SILENT, Progress
from rankwell.core.scales import sigmoid
from rankwell.core.settings import home
from rankwell.encode import Truncation, find_model
from rankwell.encode.runtime import SLOWER, open_session
from rankwell.encode.tokens import Tokenizer, Tokens
from rankwell.encode.working import check_threads, run_all
from rankwell.rerank.architectures.example import Example
from rankwell.rerank.architectures.folder import GRAPH, HEAD, ArchitectureRecord
from rankwell.rerank.architectures.graph import write_graph
from rankwell.rerank.architectures.tokens import ExampleTokens, taken_apart
from rankwell.rerank.ranker_record import RECORD

log = logging.getLogger(__name__)


class ArchitectureScorer:
    """A `Scorer`: of each pair the second text is a document in parts, as `packed` makes it.

    A score depends on its example alone, not on what else is scored with it.
    """

    def __init__(self, model: str, *, threads: int | None = None) -> None:
        self.model, self.folder = model, find_model(model)
        self.record = ArchitectureRecord.read(self.folder)
        self._threads = check_threads(threads)
        tokenizer = Tokenizer(self.folder / "tokenizer.json")
        architecture, reading = self.record.architecture, self.record.reading
        self._tokens = ExampleTokens(architecture, tokenizer, self.record.max_tokens, self.record.query_tokens)
        self._reading = reading
        self._graph = Graph(_graph_file(self.folder), architecture.inputs)

    @property
    def truncated(self) -> Truncation:
        """What was cut off so far."""
        return self._tokens.truncated

    def logits(self, pairs: Sequence[tuple[str, str]], progress: Progress = SILENT) -> Floats:
        """One number a pair, as a row."""
        return self.of_examples([unpacked(*pair) for pair in pairs], progress)

    def of_examples(self, examples: Sequence[Example], progress: Progress = SILENT) -> Floats:
        """The logit of each example, as a row."""
        return run_all(
            examples,
            lambda some: self._tokens(list(map(self._reading, some))),
            self._graph,
            finish=lambda row: row,
            width=1,
            threads=self._threads,
            progress=progress,
        )

    def scores(self, logits: Floats) -> Floats:
        """The logit."""
        return logits[:, 0]

    def probabilities(self, scores: Floats) -> Floats:
        """Its sigmoid."""
        return sigmoid(scores).astype(np.float32)

    def fingerprint(self) -> str:
        """Over everything that a logit depends on besides the example."""
        files = (self._graph.file, self.folder / "tokenizer.json", self.folder / RECORD)
        return fingerprint(["architecture", self._graph.backend, *map(fingerprint_file, files)])


class Graph:
    """A session with the graph of an architecture. `run` may be called from several threads at once."""

    batch_tokens: int | None = None  # one example at a time

    def __init__(self, file: Path, inputs: Sequence[str]) -> None:
        import onnxruntime

        self.file: Path = file
        self.backend = f"onnxruntime {onnxruntime.__version__} without {' '.join(SLOWER)}"
        self._names = tuple(inputs)
        self._session = open_session(file)
        self._inputs = {put.name for put in self._session.get_inputs()}
        missing = [name for name in inputs if f"{name}_input_ids" not in self._inputs]
        if missing:
            raise RankwellError(f"{file}: expected an input {missing[0]}_input_ids, found {', '.join(self._inputs)}")

    def use(self, task: str) -> int:  # noqa: ARG002 -- there is but one
        """One logit."""
        return 1

    def run(self, batch: Sequence[Tokens]) -> list[Floats]:
        """The logit of each example."""
        return [self._one(tokens) for tokens in batch]

    def _one(self, tokens: Tokens) -> Floats:
        given: dict[str, Any] = {}
        for name, part in zip(self._names, taken_apart(tokens.ids, tokens.types, len(self._names)), strict=True):
            values = {"input_ids": part.ids, "attention_mask": np.ones_like(part.ids), "token_type_ids": part.types}
            given |= {f"{name}_{key}": array[None] for key, array in values.items() if f"{name}_{key}" in self._inputs}
        try:
            found: Floats = self._session.run(["logits"], given)[0][0]
        except Exception as error:  # the library's classes have no common one
            reason = str(error).splitlines()[0]
            raise RankwellError(f"{self.file}: the model failed on {len(tokens.ids)} tokens: {reason}") from error
        return found


def packed(title: str, abstract: str, relevant: str) -> str:
    """A document in parts as one text, so that its score is counted and kept as any pair's."""
    return json.dumps([title, abstract, relevant])


def unpacked(query: str, document: str) -> Example:
    """The example that a pair stands for."""
    return Example(query, *json.loads(document))


def load_architecture(model: str, *, threads: int | None = None) -> ArchitectureScorer:
    """A scorer that stays loaded until its folder changes."""
    status = (find_model(model) / RECORD).stat()
    return _load(model, threads, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=4)
def _load(model: str, threads: int | None, changed: int, number: int) -> ArchitectureScorer:  # noqa: ARG001 -- they tell a folder from its successor
    return ArchitectureScorer(model, threads=threads)


def _graph_file(folder: Path) -> Path:
    """The graph in the folder, or one that is made of its weights once."""
    if (folder / GRAPH).is_file():
        return folder / GRAPH
    files = [folder / HEAD, folder / RECORD, *sorted(folder.glob("*/model.safetensors"))]
    name = fingerprint(["architecture", *(fingerprint_file(file) for file in files if file.is_file())])[:32]
    kept = home() / "exports" / name / "model.onnx"
    if not kept.is_file():
        log.warning("%s: making an ONNX file of its weights, once", folder)
        write_graph(folder, kept)
    return kept
