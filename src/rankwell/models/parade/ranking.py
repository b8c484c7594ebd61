"""PARADE as a re-ranker: a query and a document's passages through one ONNX graph, without torch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import SILENT, Document, Floats, Progress, Template, atomic_write, fingerprint, fingerprint_file
from rankwell.core.errors import FormatError, ParameterError, RankwellError
from rankwell.models.base.bert_graph import MICROSOFT, BertGraph
from rankwell.models.base.device import loaded_once, refuse_gpu
from rankwell.models.base.encoders import OneLogit, Transformer
from rankwell.models.base.export import PAIRS, TEXTS, Export, kept_graph, make
from rankwell.models.base.folder import FP32, INT8, PRECISIONS, RANKER_RECORD, ModelFolder, RankerRecord, read_weights
from rankwell.models.base.int8 import quantise_file
from rankwell.models.base.loading import loads_model
from rankwell.models.base.onnx_file import make_opset, parse
from rankwell.models.base.runtime import OnnxModel
from rankwell.models.base.tokens import Pair, PairTokens, Texts, Tokens, padded
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.reranking.passages import DocumentTexts, Passages
from rankwell.models.reranking.reranker import RerankSettings
from rankwell.models.reranking.scores import Scorer

OF_TRAINING = ("passages", "max_tokens", "query_tokens")  # settings that a model has from its training
PARADE: str = "parade"
TOP_WEIGHTS: str = "aggregator.safetensors"
VERSION = 2  # version of the graphs (2: int8 that cannot saturate); a cached one of another version is replaced
HIDDEN = "last_hidden_state"
LAYERS = 2
POSITIONS = "aggregation.positions"
ABOVE = 1000  # our layers are numbered from here, to avoid name clashes with the body's
REDUCE_BY_INPUT = 18  # the opset from which reductions take their axes as an input
# Torch's names of the parts of an encoder layer, and BERT's.
NAMES = {
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


class ParadeGraph(BertGraph):
    """Adds PARADE's upper part to the graph of a body.

    Inputs of the whole: input_ids, attention_mask and token_type_ids, [passages, tokens], of one document. Output:
    logits [1, 1]. `weights` are those above the body, as `aggregation.*` and `head.*`.
    """

    def __init__(self, weights: Mapping[str, Floats], name: str, *, heads: int, epsilon: float) -> None:
        config = {"num_hidden_layers": LAYERS, "num_attention_heads": heads, "layer_norm_eps": epsilon}
        super().__init__(weights, config, name, padded=False)
        self._ways: Mapping[str, Callable[[str], str]] = {
            "avg": lambda rows: self._reduced("ReduceMean", rows),
            "max": lambda rows: self._reduced("ReduceMax", rows),
            "attn": self._attention,
            "transformer": self._transformer,
        }
        self._opset = 0

    def onto(self, body: bytes, aggregate: str) -> bytes:
        """The whole graph; the body's output is the vectors of all tokens, or of the first alone."""
        if aggregate not in self._ways:
            raise RankwellError(f"{self.name}: expected one of {', '.join(self._ways)}, found {aggregate}")
        model = parse(body)
        self._opset = next(opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx"))
        rows = self._node("Gather", [HIDDEN, self._constant("parade.row", np.array(0))], "parade.passages", axis=1)
        self._node("Identity", [self._head("head", "", self._ways[aggregate](rows))], "logits")
        graph = model.graph
        there = {constant.name for constant in graph.initializer}
        graph.initializer.extend(value for name, value in self._constants.items() if name not in there)
        graph.node.extend(self._nodes)
        del graph.output[:]
        graph.output.append(self._floats("logits", [1, 1]))
        if MICROSOFT not in {opset.domain for opset in model.opset_import}:
            model.opset_import.append(make_opset(MICROSOFT, 1))
        return bytes(model.SerializeToString())

    def _reduced(self, operation: str, rows: str) -> str:
        """Reduce [passages, width] to [1, width]."""
        if self._opset >= REDUCE_BY_INPUT:
            axes = self._constant("parade.axes", np.array([0]))
            return self._node(operation, [rows, axes], "parade.document", keepdims=1)
        return self._node(operation, [rows], "parade.document", axes=[0], keepdims=1)

    def _attention(self, rows: str) -> str:
        weigh = self._constant("parade.weigh", self._tensor("aggregation.weigh.weight", ""))
        weighed = self._node("Gemm", [weigh, rows], "parade.weighed", transB=1)  # [1, passages]
        weights = self._node("Softmax", [weighed], "parade.weights", axis=1)
        return self._node("MatMul", [weights, rows], "parade.document")

    def _transformer(self, rows: str) -> str:
        first = self._constant("parade.first", self._tensor("aggregation.first", "")[None])
        if POSITIONS in self.weights:  # models of the first version have none
            shape = self._node("Shape", [rows], "parade.shape")
            count = self._node("Gather", [shape, self._constant("parade.zero", np.array([0]))], "parade.count")
            table = self._constant("parade.positions", self._tensor(POSITIONS, ""))
            places = self._node("Slice", [table, "parade.zero", count], "parade.places")
            rows = self._node("Add", [rows, places], "parade.placed")
        hidden = self._node("Concat", [first, rows], "parade.sequence", axis=0)
        hidden = self._node("Unsqueeze", [hidden, self._constant("parade.zero", np.array([0]))], "parade.batch")
        for number in range(LAYERS):
            self._rename(number)
            hidden = self._layer(ABOVE + number, hidden, first_only=number == LAYERS - 1)
        return self._node("Squeeze", [hidden, self._constant("parade.one", np.array([1]))], "parade.document")

    def _rename(self, number: int) -> None:
        """Rename a layer's weights to BERT's names."""
        ours, theirs = f"aggregation.layers.{number}", f"encoder.layer.{ABOVE + number}"
        for kind in ("weight", "bias"):
            parts = np.split(self._tensor(f"{ours}.self_attn.in_proj_{kind}", ""), 3)
            for part, tensor in zip(("query", "key", "value"), parts, strict=True):
                self.weights[f"{theirs}.attention.self.{part}.{kind}"] = tensor
            for old, new in NAMES.items():
                self.weights[f"{theirs}.{new}.{kind}"] = self._tensor(f"{ours}.{old}.{kind}", "")


@dataclass(frozen=True)
class ParadeReading:
    """The settings that a model was trained with, and must be used with.

    Of a document with more than `most` passages the first, the last, and others at equal distances between them are
    read (PARADE's authors use the first, the last, and random others).
    """

    aggregate: str
    passages: Passages
    most: int
    max_tokens: int
    query_tokens: int | None
    heads: int  # heads of the attention between passages
    epsilon: float  # epsilon of layer norms

    def __post_init__(self) -> None:
        if self.most < 1:
            raise ParameterError("most passages", expected="a number from 1", found=self.most)

    @classmethod
    def of_folder(cls, folder: ModelFolder) -> ParadeReading:
        """Read the settings from a folder's `ranker.json`."""
        record = folder.record
        if record is None or record.kind != PARADE:
            found = "none" if record is None else record.kind
            raise FormatError(folder.path / RANKER_RECORD, None, expected=f"a ranker of the kind {PARADE}", found=found)
        return cls.parse(record.settings, folder)

    @classmethod
    def parse(cls, settings: Mapping[str, Any], folder: ModelFolder) -> ParadeReading:
        """Parse the record's settings."""
        try:
            return cls(**{**settings, "passages": Passages(**settings["passages"])})
        except (KeyError, TypeError) as error:
            expected = f"the settings of a {PARADE} model"
            raise FormatError(folder.path / RANKER_RECORD, None, expected=expected, found=str(error)) from error

    def chosen(self, passages: Sequence[str]) -> list[str]:
        """Select the passages to read."""
        if len(passages) <= self.most:
            return list(passages)
        places = np.linspace(0, len(passages) - 1, self.most).round().astype(int)
        return [passages[place] for place in places]

    def split(self, texts: Texts) -> list[str]:
        """The passages of a document, given as such or as one text; one empty passage where it has no text."""
        return self.chosen(self.passages.split("", texts) if isinstance(texts, str) else texts) or [""]


class ParadeTokens:
    """Makes `[CLS] query [SEP] passage [SEP]` of every passage of a document: [passages, tokens]."""

    def __init__(self, tokens: PairTokens, reading: ParadeReading, padding: int) -> None:
        self._tokens, self._reading, self._padding = tokens, reading, padding
        self.truncated = tokens.truncated

    def __call__(self, pairs: Sequence[Pair]) -> list[Tokens]:
        """The token ids of each pair of query and document."""
        split = [self._reading.split(document) for _, document in pairs]
        flat = [(query, passage) for (query, _), parts in zip(pairs, split, strict=True) for passage in parts]
        made = iter(self._tokens(flat))
        return [padded([next(made) for _ in parts], self._padding) for parts in split]


class ParadeScorer(OneLogit, Transformer):
    """Scores (query, document) pairs with the logit of a PARADE model; it splits the document into passages.

    A document that is split already is given as a tuple of passages.
    """

    _model: OnnxModel

    @loads_model
    def __init__(self, model: str, *, precision: str | None = None, threads: int | None = None) -> None:
        super().__init__(model, threads)
        self.reading = ParadeReading.of_folder(self._folder)
        refuse_gpu(model, "a PARADE model, which ONNX Runtime runs")
        if precision not in (None, *PRECISIONS):
            raise ParameterError("precision", expected=" or ".join(PRECISIONS), found=precision)
        self.precision = precision or FP32
        pairs = PairTokens(self._folder.load_tokenizer(), self.reading.max_tokens, self.reading.query_tokens)
        self._tokens = ParadeTokens(pairs, self.reading, int(self._folder.config.get("pad_token_id") or 0))
        self._model = OnnxModel(graph_file(self._folder, self.reading, self.precision))
        self._model.use(PAIRS)

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> Floats:
        """One logit per pair, as a row."""
        return self._rows(pairs, progress)

    def fingerprint(self) -> str:
        """A fingerprint of everything that affects a logit besides the pair."""
        files = map(fingerprint_file, (self._model.file, self._folder.tokenizer_file))
        return fingerprint([PARADE, *files, self._model.runtime, self.precision, self.reading])


load_parade = loaded_once(ParadeScorer)


def graph_file(folder: ModelFolder, reading: ParadeReading, precision: str = FP32) -> Path:
    """The folder's own ONNX file, or one that is made from its weights once and cached."""
    _, own = folder.choose(precision)
    if own is not None:
        return own

    def write(file: Path) -> None:
        if precision != INT8:
            write_graph(folder, reading, file)
            return
        with tempfile.TemporaryDirectory() as scratch:
            plain = Path(scratch) / "plain.onnx"
            write_graph(folder, reading, plain, steady=True)
            quantise_file(plain, file)

    top = folder.path / TOP_WEIGHTS
    parts = [fingerprint_file(top) if top.is_file() else None, fingerprint_file(folder.path / RANKER_RECORD)]
    message = f"{folder.name}: making an ONNX file of its weights ({precision}), once"
    return kept_graph([VERSION, folder.fingerprint(), *parts, precision], message, write)


def write_graph(folder: ModelFolder, reading: ParadeReading, file: Path, *, steady: bool = False) -> None:
    """Write the model of a folder as one ONNX file; `steady` as in `BertGraph`."""
    top = folder.path / TOP_WEIGHTS
    if folder.torch_weights is None or not top.is_file():
        raise RankwellError(f"{folder.path}: expected weights ({TOP_WEIGHTS} beside the body's), found none")
    with tempfile.TemporaryDirectory() as scratch:
        body = Path(scratch) / "body.onnx"
        make(folder, Export(TEXTS, first_only=True, padded=True, steady=steady), body)
        graph = ParadeGraph(read_weights(top), folder.name, heads=reading.heads, epsilon=reading.epsilon)
        with atomic_write(file) as opened:
            opened.write(graph.onto(body.read_bytes(), reading.aggregate))


@dataclass(frozen=True)
class Parade(CrossEncoder):
    """Re-ranks the k best documents of each query with a folder from `rankwell train parade`.

    All parameters are those of `CrossEncoder`, but how documents are split, truncated and aggregated is fixed
    by the model's training. `reading` has these settings from its folder.

    >>> BM25(index) >> Parade("run/model", k=50)
    """

    reading: ParadeReading | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse(OF_TRAINING, "a PARADE model splits and cuts documents as it was trained")

    def scorer(self) -> Scorer:
        """The model, loaded once per process."""
        return self._loaded(load_parade, precision=self.precision)

    def texts_of(self, document: Document) -> Sequence[Texts]:
        """The passages to read, as one text; none where the document has no text."""
        passages = self._texts(document)
        return [tuple(self._reading.chosen(passages))] if passages else []

    @cached_property
    def _reading(self) -> ParadeReading:
        if self.reading is not None:
            return self.reading
        if not isinstance(self.model, str):
            expected = "how the model reads, because the model is a scorer"
            raise ParameterError("reading", expected=expected, found=self.reading)
        return ParadeReading.of_folder(ModelFolder.find(self.model))

    @cached_property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document), self._reading.passages)


def parade_stage(model: str, record: RankerRecord, settings: RerankSettings) -> Parade:
    """The re-ranking stage of a folder."""
    settings.refuse(*OF_TRAINING, because=f"{model} is a PARADE model with its own")
    return settings.stage(Parade, model, reading=ParadeReading.parse(record.settings, ModelFolder.find(model)))
