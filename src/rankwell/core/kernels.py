"""Compiled inner loops: loaded when they are first needed, compiled once on a machine and kept under RANKWELL_HOME."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rankwell.core.settings import home

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kernels:
    """A module (or package) of functions that numba compiles."""

    module: str
    announced: str | None = None  # what is said when compiling takes long

    @property
    def loaded(self) -> bool:
        """Whether they are in memory already."""
        return self.module in sys.modules

    @property
    def compiled(self) -> bool:
        """Whether compiled code of just this source lies on this machine."""
        return any(self._folder().rglob("*.nbi"))

    def __call__(self) -> ModuleType:
        """The module; loading it takes about a second, and some more the first time on a machine."""
        if not self.loaded:
            config: Any = importlib.import_module("numba").config
            folder = self.cache_folder()
            before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
            try:
                importlib.import_module(self.module)
            finally:
                config.CACHE_DIR = before
            if self.announced and not any(folder.rglob("*.nbi")):
                sys.stderr.write(f"rankwell: compiling {self.announced}, once on this machine (some seconds)\n")
        return importlib.import_module(self.module)  # which waits while another thread is loading it

    def cache_folder(self) -> Path:
        """A folder for compiled code that can be written to; where Rankwell is installed often cannot."""
        folder = self._folder()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            writable = os.access(folder, os.W_OK)
        except OSError:
            writable = False
        if writable:
            return folder
        logger.warning("%s cannot be written to: kernels are compiled anew in every process", folder)
        return Path(tempfile.mkdtemp(prefix="rankwell-kernels-"))

    def _folder(self) -> Path:
        """Where the code is kept, named by its source: numba looks only at a function's file, not at those it calls."""
        digest = hashlib.sha256()
        for source in self._sources():
            digest.update(source.read_bytes())
        return home() / "kernels" / digest.hexdigest()[:16]

    def _sources(self) -> list[Path]:
        found = importlib.util.find_spec(self.module)
        if found is None or found.origin is None:
            raise ModuleNotFoundError(self.module)
        file = Path(found.origin)
        return sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else [file]
