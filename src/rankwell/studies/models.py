"""The models that a study needs: whether they are here, whether they can do what is asked, and their fingerprints."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rankwell.core import RankwellError, fingerprint
from rankwell.core.fingerprint import fingerprint_file
from rankwell.encode import find_model
from rankwell.studies.steps import ModelUse

WEIGHTS = (".onnx", ".safetensors", ".bin", ".data")
SETTINGS = (".json", ".txt", ".toml")


def check_model(use: ModelUse) -> str:
    """The fingerprint of a model that is here; raises where it is not, or is of another kind or precision."""
    from rankwell.encode.description import kind_of, task_of
    from rankwell.encode.folder import ModelFolder
    from rankwell.rerank.linear_model import is_linear
    from rankwell.rerank.rankers import record_of

    place = find_model(use.name)
    if use.role == "cross-encoder" and (is_linear(use.name) or record_of(use.name) is not None):
        return weights_of(place)
    folder = ModelFolder.find(use.name)
    kind = kind_of(folder, task_of(folder))
    if not kind.startswith(use.role):
        raise RankwellError(f"{use.name}: expected a {use.role}, found a {kind}")
    if use.precision is not None:
        folder.choose(use.precision)  # raises where it has no such weights, nor any to make them of
    return weights_of(place)


@cache
def weights_of(folder: Path) -> str:
    """Over all files that a model is made of, whatever their names."""
    files = sorted(file for file in folder.rglob("*") if file.suffix in (*WEIGHTS, *SETTINGS) and file.is_file())
    # Where a model was fetched from does not change what it says.
    return fingerprint({str(f.relative_to(folder)): fingerprint_file(f) for f in files if f.name != "rankwell.json"})
