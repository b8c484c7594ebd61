"""From a model's folder to something that runs: its ONNX file, or one that is made of PyTorch's weights once."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from rankwell.core.arrays import Floats
from rankwell.core.errors import ParameterError, RankwellError
from rankwell.encode.export import Export, exported, writable_without_torch
from rankwell.encode.folder import FP32, INT8, ModelFolder
from rankwell.encode.runtime import OnnxModel
from rankwell.encode.tokens import Tokens
from rankwell.encode.torch_model import TorchModel, gpu_is_there

ONNX, TORCH = "onnxruntime", "torch"


class Model(Protocol):
    """What runs."""

    @property
    def backend(self) -> str:
        """Which library."""

    @property
    def file(self) -> Path | None:
        """The weights."""

    @property
    def batch_tokens(self) -> int | None:
        """How many tokens a batch may have; None for one text at a time."""

    def use(self, task: str) -> int:
        """The number of labels or dimensions."""

    def run(self, batch: Sequence[Tokens]) -> list[Floats]:
        """The output for each pair or text."""


def open_model(folder: ModelFolder, wanted: Export, precision: str | None, backend: str | None) -> tuple[str, Model]:
    """The precision that is run at, and the model.

    ONNX Runtime, unless there is a GPU and nobody asked for int8.
    """
    if backend not in (None, ONNX, TORCH):
        raise ParameterError("backend", expected=f"{ONNX} or {TORCH}", found=backend)
    if backend == TORCH and precision == INT8:
        raise ParameterError("precision", expected=f"{FP32} with the backend torch", found=precision)
    if backend == TORCH or (backend is None and precision != INT8 and folder.torch_weights and gpu_is_there()):
        return FP32, TorchModel(folder, wanted.task, wanted.layer)
    chosen, file = folder.choose(precision)
    if wanted.layer != -1 and folder.torch_weights is None:
        raise RankwellError(
            f"{folder.name}: expected PyTorch weights (model.safetensors) to take layer {wanted.layer} from, found "
            "only an ONNX file, which gives the last layer: use a folder with both, or layer -1"
        )
    # Our own graph of plain BERT is faster than the fp32 file that may lie beside the weights, and than a graph that
    # gives every token's vector where only that of [CLS] is wanted.
    better = (chosen == FP32 or wanted.first_only) and writable_without_torch(folder) and find_spec("onnx") is not None
    if wanted.layer != -1 or file is None or better:
        file = exported(folder, Export(wanted.task, chosen, wanted.layer, wanted.first_only))
    return chosen, OnnxModel(file)
