"""Loading the compiled kernels, which takes about a second, and some more the first time on a machine."""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from rankwell.core import home

MODULE = "rankwell.index.kernels"

logger = logging.getLogger(__name__)


def is_loaded() -> bool:
    """Whether the kernels are in memory already."""
    return MODULE in sys.modules


def kernels() -> ModuleType:
    """The kernels; compiled when they first run on a machine, and kept under RANKWELL_HOME."""
    if not is_loaded():
        config: Any = importlib.import_module("numba").config
        folder = _cache_folder()
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            importlib.import_module(MODULE)
        finally:
            config.CACHE_DIR = before
        if not any(folder.rglob("*.nbi")):
            sys.stderr.write("rankwell: compiling the search kernels, once on this machine (some seconds)\n")
    return sys.modules[MODULE]


def _cache_folder() -> Path:
    """A folder for compiled code that can be written to; where Rankwell is installed often cannot.

    Its name comes from the kernels' source: numba looks only at the file of a function, not at those it calls.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).with_name("kernels").glob("*.py")):
        digest.update(source.read_bytes())
    folder = home() / "kernels" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if writable:
        return folder
    logger.warning("%s cannot be written to: the search kernels are compiled anew in every process", folder)
    return Path(tempfile.mkdtemp(prefix="rankwell-kernels-"))
