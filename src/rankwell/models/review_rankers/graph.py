"""A trained review ranker's folder, and the whole model as one ONNX graph."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import FormatError, RankwellError, atomic_write
from rankwell.models.base.bert_graph import GraphWriter
from rankwell.models.base.export import TEXTS, Export, make
from rankwell.models.base.folder import RANKER_RECORD, ModelFolder, RankerRecord, read_record, read_weights
from rankwell.models.base.onnx_file import load_graph
from rankwell.models.review_rankers.architectures import Architecture, InputReading, architecture

HEAD, GRAPH, SHARED = "head.safetensors", Path("onnx") / "model.onnx", "encoder"
NEEDED = ("texts", "max_tokens")
HIDDEN = "last_hidden_state"


@dataclass(frozen=True)
class ArchitectureRecord:
    """The record of an architecture in `ranker.json`: its inputs, text preparation and token limits."""

    kind: str
    texts: str | None
    max_tokens: int
    query_tokens: int | None = None
    clean: bool = False
    most_words: int | None = None
    shared: bool = False
    seed: int = 0

    @property
    def architecture(self) -> Architecture:
        """The architecture of this kind."""
        return architecture(self.kind, self.texts)

    @property
    def reading(self) -> InputReading:
        """How texts are prepared."""
        return InputReading(self.clean, self.most_words)

    def encoder(self, name: str) -> str:
        """The folder of the encoder that reads an input."""
        return SHARED if self.shared else name

    def write(self, folder: Path) -> None:
        """Write the record into the model's folder."""
        settings = asdict(self)
        RankerRecord(settings.pop("kind"), settings).write(folder)

    @classmethod
    def read(cls, folder: Path) -> ArchitectureRecord:
        """Read and check the record of a model's folder."""
        record = read_record(folder)
        if record is None:
            raise FormatError(folder / RANKER_RECORD, None, expected="a record of an architecture", found="none")
        settings, known = record.settings, [part.name for part in fields(cls)[1:]]
        wrong = [name for name in settings if name not in known] or [name for name in NEEDED if name not in settings]
        if wrong:
            expected = f"the settings {', '.join(known)} of an architecture"
            raise FormatError(folder / RANKER_RECORD, None, expected=expected, found=", ".join(settings))
        own = cls(record.kind, **settings)
        own.architecture, own.reading  # noqa: B018 -- a wrong word in them is found here
        return own


def write_graph(folder: Path, file: Path) -> None:
    """Write the ONNX graph of a model's folder.

    For each input, `NAME_input_ids`, `NAME_attention_mask` and `NAME_token_type_ids` [batch, tokens]; out come
    `logits` [batch, 1]. Encoders of plain BERT need no torch for it. A shared encoder's weights are there once.
    """
    record, encoders = ArchitectureRecord.read(folder), {}
    inputs = record.architecture.inputs
    with tempfile.TemporaryDirectory() as scratch:
        one = Path(scratch) / "encoder.onnx"
        for name in dict.fromkeys(map(record.encoder, inputs)):
            make(ModelFolder(str(folder / name), folder / name), Export(TEXTS, first_only=True, padded=True), one)
            encoders[name] = load_graph(one)
    joined = _Joined()
    rows = [joined.encoder(name, record.encoder(name), encoders[record.encoder(name)]) for name in inputs]
    joined.head(rows, _layers(folder / HEAD))
    made = joined.model(next(iter(encoders.values())))
    with atomic_write(file) as opened:
        opened.write(made.SerializeToString())


def _layers(file: Path) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Weights and biases of the head's linear layers, in their order."""
    if not file.is_file():
        raise RankwellError(f"{file.parent}: expected the head's weights in {HEAD}, found none")
    weights = read_weights(file)
    places = sorted({int(name.partition(".")[0]) for name in weights})
    return [(weights[f"{place}.weight"], weights[f"{place}.bias"]) for place in places]


class _Joined(GraphWriter):
    """Joins encoders and a head into one ONNX graph."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[Any] = []

    def encoder(self, name: str, encoder: str, model: Any) -> str:
        """Add an encoder that reads the input `name`; returns the name of its [CLS] vectors."""
        constants = {constant.name for constant in model.graph.initializer}

        def renamed(value: str) -> str:
            if not value:
                return value  # an optional input that is not there
            return f"{encoder}/{value}" if value in constants else f"{name}_{value}"

        for put in model.graph.input:
            self.inputs.append(_copy(put, renamed(put.name)))
            batch, tokens = self.inputs[-1].type.tensor_type.shape.dim
            batch.dim_param, tokens.dim_param = "batch", f"{name}_tokens"  # inputs are of different lengths
        for constant in model.graph.initializer:
            self._constants.setdefault(renamed(constant.name), _copy(constant, renamed(constant.name)))
        for node in model.graph.node:
            moved = _copy(node, f"{name}_{node.name}" if node.name else "")
            moved.input[:], moved.output[:] = map(renamed, node.input), map(renamed, node.output)
            self._nodes.append(moved)
        first = self._constant("first_row", np.array(0, dtype=np.int64))
        return self._node("Gather", [renamed(HIDDEN), first], f"{name}_cls", axis=1)

    def head(self, rows: Sequence[str], layers: Sequence[tuple[Any, Any]]) -> None:
        """Add the head over the concatenated vectors."""
        hidden = self._node("Concat", list(rows), "cls", axis=1)
        for place, (weight, bias) in enumerate(layers):
            last = place == len(layers) - 1
            parts = [self._constant(f"head.{place}.{part}", value) for part, value in (("w", weight), ("b", bias))]
            hidden = self._node("Gemm", [hidden, *parts], "logits" if last else f"head.{place}", transB=1)
            hidden = hidden if last else self._node("Relu", [hidden], f"head.{place}.relu")

    def model(self, like: Any) -> Any:
        """The ONNX model, with the ONNX version of the encoder's."""
        output = self._floats("logits", ["batch", 1])
        made = self._model("architecture", self.inputs, output, like.opset_import, like.ir_version)
        made.functions.extend(like.functions)
        return made


def _copy(part: Any, name: str) -> Any:
    made = type(part)()
    made.CopyFrom(part)
    made.name = name
    return made
