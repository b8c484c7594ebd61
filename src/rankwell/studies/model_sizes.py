"""How large a model is: its parameters, and the bytes of the file that is loaded."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankwell.encode.folder import ModelFolder
from rankwell.encode.weights import read_weights
from rankwell.rerank.linear_model import WEIGHTS as LINEAR_WEIGHTS


class ModelSize(NamedTuple):
    """Numbers that were learnt, and bytes on disk."""

    parameters: int
    bytes: int


@cache
def size_of_model(folder: Path, precision: str | None = None) -> ModelSize:
    """The size of a model at a precision; one that is made of other weights when it is first used counts as these."""
    linear = folder / LINEAR_WEIGHTS
    if linear.is_file():
        return ModelSize(int(np.load(linear, mmap_mode="r").size), linear.stat().st_size)
    found = ModelFolder(folder.name, folder)
    _, file = found.choose(precision)
    weights = file or found.torch_weights or next(iter(found.onnx_files.values()))
    count = _in_onnx(weights) if weights.suffix == ".onnx" else _in_torch(weights)
    return ModelSize(count, sum(part.stat().st_size for part in _parts(weights)))


def _in_torch(weights: Path) -> int:
    """Numbers in all tensors; they are mapped, not read."""
    return sum(int(tensor.size) for tensor in read_weights(weights).values())


def _in_onnx(file: Path) -> int:
    """Numbers in all tensors that the graph begins with; scales and zero points of an int8 model are among them."""
    import onnx

    model = onnx.load(str(file), load_external_data=False)
    return sum(math.prod(tensor.dims) for tensor in model.graph.initializer)


def _parts(weights: Path) -> list[Path]:
    """The file, and those beside it that hold its numbers."""
    return [weights, *(part for part in weights.parent.glob(f"{weights.name}[._]data") if part.is_file())]
