"""PARADE without torch: a query and the passages of a document through one ONNX graph, one logit out."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import ParameterError, RankwellError, atomic_write, fingerprint, home
from rankwell.core.arrays import Floats
from rankwell.core.fingerprint import fingerprint_file
from rankwell.core.progress import SILENT, Progress
from rankwell.core.scales import sigmoid
from rankwell.encode.export import TEXTS, Export, make, quantise
from rankwell.encode.folder import FP32, INT8, PRECISIONS, ModelFolder
from rankwell.encode.runtime import open_session
from rankwell.encode.tokens import PairTokens, Tokenizer, Tokens, Truncation
from rankwell.encode.weights import read_weights
from rankwell.encode.working import check_threads, run_all
from rankwell.rerank.parade_graph import ParadeGraph
from rankwell.rerank.parade_reading import ParadeReading, ParadeTokens
from rankwell.rerank.ranker_record import RECORD

log = logging.getLogger(__name__)

TOP_WEIGHTS = "aggregator.safetensors"
VERSION = 2  # of the graphs (2: int8 that cannot saturate); a cached one of another version is written anew


class ParadeScorer:
    """Gives (query, document) pairs the logit of a PARADE model; the document is split into passages here.

    A document whose passages were made elsewhere has `BREAK` between them.
    """

    def __init__(self, model: str, *, precision: str | None = None, threads: int | None = None) -> None:
        self.model = model
        self._folder = ModelFolder.find(model)
        self.reading = ParadeReading.of_folder(self._folder)
        self._threads = check_threads(threads)
        if precision not in (None, *PRECISIONS):
            raise ParameterError("precision", expected=" or ".join(PRECISIONS), found=precision)
        self.precision = precision or FP32
        tokenizer = Tokenizer(self._folder.tokenizer_file)
        self._folder.check_tokenizer(tokenizer.vocabulary)
        pairs = PairTokens(tokenizer, self.reading.max_tokens, self.reading.query_tokens)
        padding = int(self._folder.config.get("pad_token_id") or 0)
        self._tokens = ParadeTokens(pairs, self.reading, padding)
        self._model = DocumentModel(graph_file(self._folder, self.reading, self.precision))

    @property
    def truncated(self) -> Truncation:
        """What was cut off so far, of passages."""
        return self._tokens.tokens.truncated

    def logits(self, pairs: Sequence[tuple[str, str]], progress: Progress = SILENT) -> Floats:
        """One row of one number a pair."""
        return run_all(
            pairs,
            self._tokens,
            self._model,
            finish=lambda row: row,
            width=1,
            threads=self._threads,
            progress=progress,
        )

    def scores(self, logits: Floats) -> Floats:
        """The logit."""
        return logits[:, 0]

    def probabilities(self, scores: Floats) -> Floats:
        """The sigmoid."""
        return sigmoid(scores).astype(np.float32)

    def fingerprint(self) -> str:
        """Over everything that a logit depends on besides the pair."""
        weights = fingerprint_file(self._model.file)
        tokenizer = fingerprint_file(self._folder.tokenizer_file)
        return fingerprint(["parade", weights, tokenizer, self._model.backend, self.precision, self.reading])


class DocumentModel:
    """A session that takes the passages of one document together. `run` may be called from several threads at once."""

    batch_tokens: int | None = None  # one document at a time

    def __init__(self, file: Path) -> None:
        import onnxruntime

        self.file = file
        self.backend = f"onnxruntime {onnxruntime.__version__}"
        self._session = open_session(file)
        self._inputs = [put.name for put in self._session.get_inputs()]

    def use(self, task: str) -> int:  # noqa: ARG002 -- there is one task
        """One logit."""
        return 1

    def run(self, batch: Sequence[Tokens]) -> list[Floats]:
        """The logit of each document."""
        return [self._run_one(tokens) for tokens in batch]

    def _run_one(self, tokens: Tokens) -> Floats:
        values = {"input_ids": tokens.ids, "attention_mask": tokens.mask, "token_type_ids": tokens.types}
        try:
            output: Any = self._session.run(["logits"], {name: values[name] for name in self._inputs})[0]
        except Exception as error:  # the library's classes have no common one
            reason = str(error).splitlines()[0]
            raise RankwellError(f"{self.file}: the model failed on {tokens.ids.shape}: {reason}") from error
        return output[0].astype(np.float32, copy=False)  # type: ignore[no-any-return]


def graph_file(folder: ModelFolder, reading: ParadeReading, precision: str = FP32) -> Path:
    """The folder's own ONNX file, or one that is made of its weights once and kept."""
    _, own = folder.choose(precision)
    if own is not None:
        return own
    top = folder.path / TOP_WEIGHTS
    parts = [fingerprint_file(top) if top.is_file() else None, fingerprint_file(folder.path / RECORD)]
    name = fingerprint([VERSION, folder.fingerprint(), *parts, precision])[:32]
    file = home() / "exports" / name / "model.onnx"
    if not file.is_file():
        log.warning("%s: making an ONNX file of its weights (%s), once", folder.name, precision)
        if precision == INT8:
            with tempfile.TemporaryDirectory() as scratch:
                plain = Path(scratch) / "plain.onnx"
                write_graph(folder, reading, plain, steady=True)
                quantise(plain, file)
        else:
            write_graph(folder, reading, file)
    return file


def write_graph(folder: ModelFolder, reading: ParadeReading, file: Path, *, steady: bool = False) -> None:
    """The model of a folder as one ONNX file; `steady` as in `BertGraph`."""
    top = folder.path / TOP_WEIGHTS
    if folder.torch_weights is None or not top.is_file():
        raise RankwellError(f"{folder.path}: expected weights ({TOP_WEIGHTS} beside the body's), found none")
    with tempfile.TemporaryDirectory() as scratch:
        body = Path(scratch) / "body.onnx"
        make(folder, Export(TEXTS, first_only=True, padded=True, steady=steady), body)
        graph = ParadeGraph(read_weights(top), folder.name, heads=reading.heads, epsilon=reading.epsilon)
        with atomic_write(file) as opened:
            opened.write(graph.onto(body.read_bytes(), reading.aggregate))


@lru_cache(maxsize=4)
def load_parade(model: str, *, precision: str | None = None, threads: int | None = None) -> ParadeScorer:
    """A scorer that stays loaded: the same arguments give the same object."""
    return ParadeScorer(model, precision=precision, threads=threads)
