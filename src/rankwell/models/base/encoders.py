"""Open transformers and run them: cross-encoders score pairs of texts, bi-encoders make vectors of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankwell.core import SILENT, Floats, ParameterError, Progress, RankwellError, fingerprint, sigmoid
from rankwell.models.base.device import CPU, chosen_device, loaded_once, refuse_gpu
from rankwell.models.base.export import PAIRS, TEXTS, Export, exported, writable_without_torch
from rankwell.models.base.folder import FP32, INT8, ModelFolder
from rankwell.models.base.loading import loads_model
from rankwell.models.base.runtime import OnnxModel, check_threads, run_all
from rankwell.models.base.tokens import Pair, PairTokens, TextTokens, Truncation, as_text
from rankwell.models.base.torch_model import TorchModel, gpu_is_there

ONNX, TORCH = "onnxruntime", "torch"
CLASSIFIER, NEXT_SENTENCE = "classifier", "next-sentence"
SMALLEST = 16  # tokens of a pair
POOLINGS: dict[str, Callable[[Floats], Floats]] = {
    "cls": lambda hidden: hidden[0],
    "max": lambda hidden: hidden.max(axis=0),
    "mean": lambda hidden: hidden.mean(axis=0, dtype="float32"),  # special tokens too, as sentence-transformers does
}


def open_model(
    folder: ModelFolder, wanted: Export, precision: str | None, backend: str | None
) -> tuple[str, OnnxModel | TorchModel]:
    """The precision to run at, and the model.

    The backend is ONNX Runtime, unless a GPU was asked for, or there is one and int8 was not requested.
    """
    if backend not in (None, ONNX, TORCH):
        raise ParameterError("backend", expected=f"{ONNX} or {TORCH}", found=backend)
    if backend == TORCH and precision == INT8:
        raise ParameterError("precision", expected=f"{FP32} with the backend torch", found=precision)
    device = chosen_device()
    if device not in (None, CPU) and (backend == ONNX or precision == INT8 or not folder.torch_weights):
        refuse_gpu(folder.name, "which has or uses no PyTorch weights in fp32")
    alone = device is None and backend is None and precision != INT8 and folder.torch_weights and gpu_is_there()
    if backend == TORCH or device not in (None, CPU) or alone:
        return FP32, TorchModel(folder, wanted.task, wanted.layer, device)
    chosen, file = folder.choose(precision)
    if wanted.layer != -1 and folder.torch_weights is None:
        raise RankwellError(
            f"{folder.name}: expected PyTorch weights (model.safetensors) to take layer {wanted.layer} from, found "
            "only an ONNX file, which gives the last layer: use a folder with both, or layer -1"
        )
    # Our own graph of plain BERT is faster than an fp32 file in the folder, and than a graph that
    # gives every token's vector where only that of [CLS] is wanted.
    better = (chosen == FP32 or wanted.first_only) and writable_without_torch(folder)
    if wanted.layer != -1 or file is None or better:
        file = exported(folder, Export(wanted.task, chosen, wanted.layer, wanted.first_only))
    return chosen, OnnxModel(file)


class Transformer:
    """A model with its tokens: one row of numbers for each input, which depends on that input alone.

    Each kind sets `_tokens`, which makes tokens of inputs and counts what it cuts, `_model` and `precision`.
    """

    _tokens: Any
    _model: OnnxModel | TorchModel
    precision: str

    def __init__(self, model: str, threads: int | None) -> None:
        self.model = model
        self._folder = ModelFolder.find(model)
        self._threads = check_threads(threads)

    def _open_pairs(self, precision: str | None, backend: str | None = None) -> int:
        """Open the model for logits of pairs. Returns the number of labels."""
        self.precision, self._model = open_model(self._folder, Export(PAIRS), precision, backend)
        return self._model.use(PAIRS)

    @property
    def megabytes(self) -> float:
        """The size of the weights in megabytes."""
        return self._model.file.stat().st_size / 1e6 if self._model.file else 0.0

    @property
    def truncated(self) -> Truncation:
        """Statistics of truncated texts so far."""
        counted: Truncation = self._tokens.truncated
        return counted

    def _rows(
        self,
        inputs: Sequence[Any],
        progress: Progress,
        width: int = 1,
        finish: Callable[[Floats], Floats] = lambda row: row,
    ) -> Floats:
        return run_all(
            inputs,
            self._tokens,
            self._model,
            finish=finish,
            width=width,
            threads=self._threads,
            progress=progress,
        )

    def _fingerprint(self, kind: str, *settings: Any) -> str:
        weights = self._folder.fingerprint(self._model.file)
        return fingerprint([kind, weights, self._model.backend, self.precision, *settings])


class OneLogit:
    """Scores of models that give one logit."""

    def scores(self, logits: Floats) -> Floats:
        """The logit of each pair."""
        return logits[:, 0]

    def probabilities(self, scores: Floats) -> Floats:
        """The sigmoid of each score."""
        return sigmoid(scores).astype(np.float32)


class PairScorer(OneLogit, Transformer):
    """Gives (query, document) pairs the logits of a cross-encoder.

    `kind` is "classifier", or "next-sentence" for the head of BERT's pre-training (the COVID-19 study's untrained
    baseline): does the document follow the query? A score depends on its pair alone, not on the rest of the batch.
    """

    @loads_model
    def __init__(
        self,
        model: str,
        *,
        max_tokens: int | None = None,
        query_tokens: int | None = None,
        precision: str | None = None,
        threads: int | None = None,
        backend: str | None = None,
    ) -> None:
        super().__init__(model, threads)
        self._folder.sentence.check_scorer()
        longest = self._folder.longest
        if max_tokens is not None and not SMALLEST <= max_tokens <= longest:
            raise ParameterError("max_tokens", expected=f"a number from {SMALLEST} to {longest}", found=max_tokens)
        self._tokens = PairTokens(self._folder.load_tokenizer(), max_tokens or longest, query_tokens)
        self.labels = self._open_pairs(precision, backend)
        self.kind = NEXT_SENTENCE if self._folder.next_sentence else CLASSIFIER

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """The logits of each pair: a row with a number for each label."""
        rows = self._rows([(query, as_text(document)) for query, document in pairs], progress, self.labels)
        wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(wrong):
            query, document = pairs[wrong[0]]
            raise RankwellError(
                f"{self.model}: expected numbers, found {rows[wrong[0]].tolist()} for the query {query[:60]!r} "
                f"and the document {as_text(document)[:60]!r} ({len(wrong):,} of {len(pairs):,} pairs)"
            )
        return rows

    def scores(self, logits: Floats) -> Floats:
        """One score a pair: the only logit, or the difference between "relevant" and "not relevant"."""
        if self.labels == 1:
            return logits[:, 0]
        if self.labels != 2:  # noqa: PLR2004 -- yes and no
            raise RankwellError(
                f"{self.model}: expected a model with 1 label (relevant) or 2 (not relevant, relevant) to rank with, "
                f"found {self.labels}"
            )
        # BERT's next-sentence head calls "is next" 0; classifiers call "relevant" 1. The sigmoid is then their softmax.
        yes, no = (0, 1) if self.kind == NEXT_SENTENCE else (1, 0)
        return logits[:, yes] - logits[:, no]

    def fingerprint(self) -> str:
        """Fingerprint of everything that a logit depends on besides the pair."""
        return self._fingerprint("pairs", self.kind, self._tokens.max_tokens, self._tokens.query_tokens)


class TextEncoder(Transformer):
    """Encodes texts: the token vectors of a layer, pooled into one, by default of length 1.

    `layer` counts from 1, or from the end: -1 is the last.
    """

    @loads_model
    def __init__(
        self,
        model: str,
        *,
        pooling: str | None = None,
        layer: int = -1,
        normalise: bool = True,
        max_tokens: int | None = None,
        precision: str | None = None,
        threads: int | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        backend: str | None = None,
    ) -> None:
        super().__init__(model, threads)
        self._folder.sentence.check_encoder()
        self.layer, self.normalise, self.max_tokens = layer, normalise, max_tokens
        self.pooling = pooling or self._folder.pooling
        if self.pooling not in POOLINGS:
            raise ParameterError("pooling", expected=", ".join(POOLINGS), found=pooling)
        longest = self._folder.longest
        if max_tokens is not None and not 1 <= max_tokens <= longest:
            raise ParameterError("max_tokens", expected=f"a number up to {longest}", found=max_tokens)
        self.query_prompt = self._folder.query_prompt if query_prompt is None else query_prompt
        own = self._folder.sentence.document_prompt
        self.document_prompt = own if document_prompt is None else document_prompt
        self._lower_case = self._folder.sentence.lower_case
        self._tokens = TextTokens(self._folder.load_tokenizer(), max_tokens or longest)
        wanted = Export(TEXTS, layer=layer, first_only=self.pooling == "cls")
        self.precision, self._model = open_model(self._folder, wanted, precision, backend)
        self.dimensions = self._model.use(TEXTS)

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> Floats:
        """A vector for each document, with the model's document prefix."""
        return self._encode(
            [self.document_prompt + text for text in texts] if self.document_prompt else texts, progress
        )

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """A vector for each query, with the model's query prefix."""
        return self._encode([self.query_prompt + text for text in texts], SILENT)

    def _encode(self, texts: Sequence[str], progress: Progress) -> Floats:
        texts = [text.lower() for text in texts] if self._lower_case else texts
        vectors = self._rows(texts, progress, self.dimensions, self._vector)
        if not np.isfinite(vectors).all():
            raise RankwellError(f"{self.model}: expected vectors of numbers, found some that are none")
        return vectors

    def _vector(self, hidden: Floats) -> Floats:
        vector = POOLINGS[self.pooling](hidden)
        return vector / max(float(np.linalg.norm(vector)), 1e-12) if self.normalise else vector

    def fingerprint(self) -> str:
        """Fingerprint of everything that a vector depends on besides the text."""
        settings = [self.pooling, self.layer, self.normalise, self._tokens.max_tokens, self.query_prompt]
        more = [part for part in (self.document_prompt, self._lower_case) if part]  # of few models
        return self._fingerprint("texts", *settings, *more)


# The same arguments give the same, loaded object.
load_pair_scorer = loaded_once(PairScorer)
load_text_encoder = loaded_once(TextEncoder)
