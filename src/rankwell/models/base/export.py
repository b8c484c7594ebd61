"""ONNX files made from other weights, and cached below RANKWELL_HOME.

Plain BERT is written without torch. Any other architecture is exported by torch, and compared with torch's
own output. ONNX Runtime's transformer optimiser is left out on purpose: the operations that it
fuses (`SkipLayerNormalization`, `BiasGelu`) are slower on a CPU than their parts.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankwell.core.arrays import Floats
from rankwell.core.errors import ParameterError, RankwellError
from rankwell.core.files import atomic_write, home
from rankwell.core.fingerprint import fingerprint
from rankwell.models.base.bert_graph import CLASSIFIER, NEXT_SENTENCE, BertGraph, is_plain_bert
from rankwell.models.base.bert_graph import VERSION as BERT_VERSION
from rankwell.models.base.folder import FP32, INT8, TORCH_WEIGHTS, ModelFolder
from rankwell.models.base.int8 import can_saturate, load_graph, to_float
from rankwell.models.base.int8 import quantise as quantise_graph
from rankwell.models.base.weights import read_weights

log = logging.getLogger(__name__)

PAIRS, TEXTS = "pairs", "texts"


@dataclass(frozen=True)
class Export:
    """The wanted ONNX file of a model: for logits of pairs, or for vectors of texts from a layer."""

    task: str
    precision: str = FP32
    layer: int = -1
    first_only: bool = False  # vectors of [CLS] alone
    padded: bool = False  # for programs that put texts of several lengths into one batch
    steady: bool = False  # sums in the same order on every processor, as int8 needs them

    def layer_of(self, layers: int) -> int:
        """The layer counted from 1, of a model with `layers` layers."""
        wanted = self.layer if self.layer > 0 else layers + 1 + self.layer
        if not 1 <= wanted <= layers:
            raise ParameterError("layer", expected=f"a number from 1 to {layers}, or -1 for the last", found=self.layer)
        return wanted


def exported(folder: ModelFolder, wanted: Export) -> Path:
    """The ONNX file made from a folder's weights: the cached one, or a new one."""
    source = folder.torch_weights or folder.onnx_files.get(FP32) or folder.onnx_files.get(INT8)
    name = fingerprint([BERT_VERSION, folder.fingerprint(source), wanted])[:32]
    file = home() / "exports" / name / "model.onnx"
    if not file.is_file():
        log.warning("%s: making an ONNX file of its weights (%s), once", folder.name, wanted.precision)
        make(folder, wanted, file)
    return file


def make(folder: ModelFolder, wanted: Export, file: Path) -> None:
    """Write the ONNX file of a folder's weights."""
    if wanted.precision == INT8:
        _make_int8(folder, wanted, file)
    elif folder.torch_weights is None:
        _make_from_onnx(folder, wanted, file)
    elif writable_without_torch(folder):
        head = NEXT_SENTENCE if folder.next_sentence else CLASSIFIER
        graph = write_bert(read_weights(folder.torch_weights), folder.config, wanted, folder.name, head)
        with atomic_write(file) as opened:
            opened.write(graph)
    else:
        from rankwell.models.base.torch_model import export_with_torch

        with _scratch_beside(file) as part:
            export_with_torch(folder, wanted.task, wanted.layer, part)


def _make_int8(folder: ModelFolder, wanted: Export, file: Path) -> None:
    """Write an int8 graph of the fp32 weights. An int8 file that cannot be converted to fp32 is copied."""
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "model.onnx"
        try:
            make(folder, replace(wanted, precision=FP32, steady=True), plain)
        except RankwellError as error:
            if folder.torch_weights is not None or set(folder.onnx_files) != {INT8}:
                raise
            source = folder.onnx_files[INT8]
            if can_saturate(load_graph(source)):
                log.warning("%s: run as it is, with other scores on processors without VNNI: %s", source, error)
            _copy(source, file)
        else:
            quantise(plain, file)


def _make_from_onnx(folder: ModelFolder, wanted: Export, file: Path) -> None:
    """Write an fp32 graph of a folder with ONNX files only: the file's own graph, or ours for steady sums."""
    source = folder.onnx_files.get(FP32) or folder.onnx_files.get(INT8)
    if source is None:
        raise RankwellError(f"{folder.path}: expected weights (*.onnx, {', '.join(TORCH_WEIGHTS)}), found none")
    graph = _steady_bert(source, folder, wanted) if wanted.steady else None
    with atomic_write(file) as opened:
        opened.write(graph or to_float(load_graph(source)).SerializeToString())


def _steady_bert(source: Path, folder: ModelFolder, wanted: Export) -> bytes | None:
    """The BERT of an ONNX file in a graph of our own; None where it is something else."""
    from rankwell.models.base.bert_weights import restore_weights  # which writes graphs with `write_bert`

    try:
        weights, config = restore_weights(source, folder.config, wanted.task)
    except RankwellError:
        return None
    return write_bert(weights, config, wanted, folder.name)


def _copy(source: Path, target: Path) -> None:
    with atomic_write(target) as opened, source.open("rb") as content:
        shutil.copyfileobj(content, opened)


def writable_without_torch(folder: ModelFolder) -> bool:
    """Whether the weights are plain BERT's in safetensors."""
    weights = folder.torch_weights
    return weights is not None and "safetensors" in weights.name and is_plain_bert(folder.config)


def quantise(source: Path, target: Path) -> None:
    """Write the int8 version of an fp32 file."""
    with atomic_write(target) as file:
        file.write(quantise_graph(load_graph(source)).SerializeToString())


def write_bert(
    weights: Mapping[str, Floats], config: Mapping[str, Any], wanted: Export, name: str, head: str = CLASSIFIER
) -> bytes:
    """The graph of a plain BERT in fp32; `head` is the prefix of a cross-encoder's last layer."""
    graph = BertGraph(weights, config, name, padded=wanted.padded, steady=wanted.steady)
    if wanted.task == TEXTS:
        return graph.encoder(wanted.layer_of(int(config.get("num_hidden_layers", 0))), first_only=wanted.first_only)
    if not any(weight.startswith(f"{head}.") for weight in weights):
        raise RankwellError(
            f"{name}: expected a cross-encoder with weights {head}.*, found an encoder without that head: "
            "fine-tune it first"
        )
    return graph.classifier(head)


@contextmanager
def _scratch_beside(file: Path) -> Iterator[Path]:
    """A temporary file for a library to write to, renamed to the file on success."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield part
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
