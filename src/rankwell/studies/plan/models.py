"""The models that a study needs: availability, kind and size."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankwell.core import RankwellError, fingerprint
from rankwell.core.fingerprint import fingerprint_file
from rankwell.models.base import find_model
from rankwell.models.base.folder import ModelFolder, read_weights
from rankwell.models.linear.ranking import WEIGHTS as LINEAR_WEIGHTS
from rankwell.studies.steps import ModelUse

WEIGHTS = (".onnx", ".safetensors", ".bin", ".data")
SETTINGS = (".json", ".txt", ".toml")


def check_model(use: ModelUse) -> str:
    """The fingerprint of a model; raises where it is missing, or of another kind or precision."""
    from rankwell.models.base.catalogue import kind_of, task_of
    from rankwell.models.base.folder import ModelFolder
    from rankwell.models.families import record_of
    from rankwell.models.linear.ranking import is_linear

    place = find_model(use.name)
    if use.role == "cross-encoder" and (is_linear(use.name) or record_of(use.name) is not None):
        return weights_of(place)
    folder = ModelFolder.find(use.name)
    kind = kind_of(folder, task_of(folder))
    if not kind.startswith(use.role):
        raise RankwellError(f"{use.name}: expected a {use.role}, found a {kind}")
    if use.precision is not None:
        folder.choose(use.precision)  # raises where the weights are missing and cannot be made
    return weights_of(place)


@cache
def weights_of(folder: Path) -> str:
    """Fingerprint of all files of a model, whatever their names."""
    files = sorted(file for file in folder.rglob("*") if file.suffix in (*WEIGHTS, *SETTINGS) and file.is_file())
    # A model's download source does not change its results.
    return fingerprint({str(f.relative_to(folder)): fingerprint_file(f) for f in files if f.name != "rankwell.json"})


class ModelSize(NamedTuple):
    """Number of parameters, and bytes on disk."""

    parameters: int
    bytes: int


@cache
def size_of_model(folder: Path, precision: str | None = None) -> ModelSize:
    """The size of a model at a precision; weights that are converted on first use count like their source."""
    linear = folder / LINEAR_WEIGHTS
    if linear.is_file():
        return ModelSize(int(np.load(linear, mmap_mode="r").size), linear.stat().st_size)
    found = ModelFolder(folder.name, folder)
    _, file = found.choose(precision)
    weights = file or found.torch_weights or next(iter(found.onnx_files.values()))
    count = _in_onnx(weights) if weights.suffix == ".onnx" else _in_torch(weights)
    return ModelSize(count, sum(part.stat().st_size for part in _parts(weights)))


def _in_torch(weights: Path) -> int:
    """Number of parameters; the file is memory-mapped, not read."""
    return sum(int(tensor.size) for tensor in read_weights(weights).values())


def _in_onnx(file: Path) -> int:
    """Number of parameters in the graph's initial tensors, including scales and zero points of an int8 model."""
    import onnx

    model = onnx.load(str(file), load_external_data=False)
    return sum(math.prod(tensor.dims) for tensor in model.graph.initializer)


def _parts(weights: Path) -> list[Path]:
    """The file, and the files beside it with its external data."""
    return [weights, *(part for part in weights.parent.glob(f"{weights.name}[._]data") if part.is_file())]
