"""ONNX files that are made here, once, of other weights, and kept below Rankwell's own folder.

Plain BERT is written by `bert`, without torch. Any other architecture is exported by torch, and compared with torch's
own output before it is trusted. ONNX Runtime's transformer optimiser is left out on purpose: the operations that it
fuses (`SkipLayerNormalization`, `BiasGelu`) are slower on a CPU than their parts.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rankwell.core.errors import ParameterError, RankwellError
from rankwell.core.files import atomic_write
from rankwell.core.fingerprint import fingerprint
from rankwell.core.settings import home
from rankwell.encode import bert
from rankwell.encode.folder import FP32, INT8, ModelFolder

log = logging.getLogger(__name__)

PAIRS, TEXTS = "pairs", "texts"


@dataclass(frozen=True)
class Export:
    """What is to be made of a model: logits of pairs, or vectors of texts from a layer."""

    task: str
    precision: str = FP32
    layer: int = -1
    first_only: bool = False  # vectors of [CLS] alone
    padded: bool = False  # for programs that put texts of several lengths into one batch

    def layer_of(self, folder: ModelFolder) -> int:
        """The layer counted from 1."""
        layers = int(folder.config.get("num_hidden_layers", 0))
        wanted = self.layer if self.layer > 0 else layers + 1 + self.layer
        if not 1 <= wanted <= layers:
            raise ParameterError("layer", expected=f"a number from 1 to {layers}, or -1 for the last", found=self.layer)
        return wanted


def exported(folder: ModelFolder, wanted: Export) -> Path:
    """The ONNX file made of a folder's weights: the one that is kept, or a new one."""
    source = folder.torch_weights or folder.onnx_files.get(FP32)
    name = fingerprint([bert.VERSION, folder.fingerprint(source), wanted])[:32]
    file = home() / "exports" / name / "model.onnx"
    if not file.is_file():
        log.warning("%s: making an ONNX file of its weights (%s), once", folder.name, wanted.precision)
        make(folder, wanted, file)
    return file


def make(folder: ModelFolder, wanted: Export, file: Path) -> None:
    """Write the ONNX file of a folder's weights."""
    if wanted.precision == INT8:
        with tempfile.TemporaryDirectory() as scratch:
            plain = Path(scratch) / "model.onnx"
            make(folder, replace(wanted, precision=FP32), plain)
            quantise(plain, file)
        return
    if folder.torch_weights is None:
        if FP32 not in folder.onnx_files:
            raise RankwellError(f"{folder.name}: expected weights in fp32, or PyTorch's, found none")
        with atomic_write(file) as opened, folder.onnx_files[FP32].open("rb") as source:
            shutil.copyfileobj(source, opened)
        return
    if writable_without_torch(folder):
        with atomic_write(file) as opened:
            opened.write(_written(folder, wanted))
        return
    from rankwell.encode.torch_export import export_with_torch

    with _scratch_beside(file) as part:
        export_with_torch(folder, wanted.task, wanted.layer, part)


def writable_without_torch(folder: ModelFolder) -> bool:
    """Whether the weights are plain BERT's in safetensors."""
    weights = folder.torch_weights
    return weights is not None and "safetensors" in weights.name and bert.is_plain_bert(folder.config)


def quantise(source: Path, target: Path) -> None:
    """int8 of an fp32 ONNX file: weights by column, activations when they are there ("dynamic").

    The matrices of the layers become int8; embeddings, norms and the head stay as they are.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with _scratch_beside(target) as part, _quiet_root():
        quantize_dynamic(
            source,
            part,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT, "MatMulConstBOnly": True},
        )


def _written(folder: ModelFolder, wanted: Export) -> bytes:
    from rankwell.encode.weights import read_weights

    weights = read_weights(folder.torch_weights or Path())
    graph = bert.BertGraph(weights, folder.config, folder.name, padded=wanted.padded)
    if wanted.task == TEXTS:
        return graph.encoder(wanted.layer_of(folder), first_only=wanted.first_only)
    head = bert.NEXT_SENTENCE if folder.next_sentence else bert.CLASSIFIER
    if not any(name.startswith(f"{head}.") for name in weights):
        raise RankwellError(
            f"{folder.name}: expected a cross-encoder with weights {head}.*, found an encoder without that head: "
            "fine-tune it first"
        )
    return graph.classifier(head)


@contextmanager
def _scratch_beside(file: Path) -> Iterator[Path]:
    """A place for a library to write to, which becomes the file when all went well."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield part
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _quiet_root() -> Iterator[None]:
    """Without the advice that the quantiser gives through the root logger."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
