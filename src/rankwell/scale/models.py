"""The same model here and at the workers."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from rankwell.core import RankwellError

SHOWN = 12  # characters of a fingerprint


class Named(Protocol):
    """What has a fingerprint."""

    def fingerprint(self) -> str:
        """Over everything that results depend on."""


def everywhere(model: str) -> str:
    """A model's name as it is; a folder in full, because workers have a working folder of their own."""
    folder = Path(model).expanduser()
    return str(folder.resolve()) if folder.is_dir() else model


def check_same(what: str, here: Named, expected: str) -> None:
    """Refuse to work with another model, index or library than the one who asked has."""
    found = here.fingerprint()
    if found != expected:
        raise RankwellError(
            f"{what}: expected the same as where the command was given (fingerprint {expected[:SHOWN]}), found another "
            f"one ({found[:SHOWN]}): put the same files there, and install the same version of onnxruntime"
        )
