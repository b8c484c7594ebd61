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
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.weights import read_weights
from rankwell.models.linear.scorer import WEIGHTS as LINEAR_WEIGHTS
from rankwell.studies.steps import ModelUse
from rankwell.studies.steps.step import CROSS_ENCODER

WEIGHTS = (".onnx", ".safetensors", ".bin", ".data")
SETTINGS = (".json", ".txt", ".toml")


def check_model(use: ModelUse) -> str:
    """The fingerprint of a model; raises where it is missing, or of another kind or precision."""
    from rankwell.models.base.publishing import kind_of, task_of
    from rankwell.models.families import record_of
    from rankwell.models.linear.scorer import is_linear

    place = find_model(use.name)
    if use.role == CROSS_ENCODER and (is_linear(use.name) or record_of(use.name) is not None):
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
    model_folder = ModelFolder(folder.name, folder)
    _, file = model_folder.choose(precision)
    weights = file or model_folder.torch_weights or next(iter(model_folder.onnx_files.values()))
    if weights.suffix == ".onnx":
        import onnx

        # The graph's initial tensors, including scales and zero points of an int8 model.
        model = onnx.load(str(weights), load_external_data=False)
        count = sum(math.prod(tensor.dims) for tensor in model.graph.initializer)
    else:
        count = sum(int(tensor.size) for tensor in read_weights(weights).values())  # memory-mapped, not read
    beside = (part for part in weights.parent.glob(f"{weights.name}[._]data") if part.is_file())
    return ModelSize(count, sum(part.stat().st_size for part in (weights, *beside)))
