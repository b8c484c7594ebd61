"""On what a model was trained: versions, machine and threads, because the same numbers need the same of these."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rankwell import __version__

LIBRARIES = ("torch", "transformers", "sentence-transformers", "accelerate", "tokenizers", "numpy", "safetensors")


def environment(threads: int) -> dict[str, Any]:
    """What is written to `environment.json`."""
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "rankwell": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.machine(),
        "gpu": gpu,
        "threads": threads,
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
