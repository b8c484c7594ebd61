"""Compiled kernels: loaded when first needed, compiled once per machine and cached under RANKWELL_HOME."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock, get_ident
from types import ModuleType
from typing import Any

from rankwell.core.files import atomic_write, home

logger = logging.getLogger(__name__)

COMPLETE = "complete"  # file that marks a folder with compiled code of every kernel


@dataclass(eq=False)
class Kernels:
    """A module (or package) of functions that numba compiles."""

    module: str
    announced: str | None = None  # message when compiling takes long
    _lock: Any = field(default_factory=RLock, init=False, repr=False)
    _owner: int | None = field(default=None, init=False, repr=False)  # the thread that loads them
    _cache: Path | None = field(default=None, init=False, repr=False)  # this process's cache folder

    @property
    def loaded(self) -> bool:
        """Whether they are in memory, and ready for this thread."""
        return self.module in sys.modules and not self.reserved

    @property
    def reserved(self) -> bool:
        """Whether another thread is loading them: until then, work without them."""
        return self._owner not in {None, get_ident()}

    @property
    def compiled(self) -> int:
        """Number of functions in the cache for this source and this processor."""
        return sum(1 for _ in self._folder().rglob("*.nbc"))

    @property
    def complete(self) -> bool:
        """Whether every kernel is compiled: loading takes about a second, and no search compiles anything."""
        try:
            return (self._folder() / COMPLETE).read_text(encoding="ascii") == self._stamps()
        except OSError:
            return False

    def __call__(self) -> ModuleType:
        """The module; loading it takes about a second, and longer the first time on a machine."""
        with self._lock:  # while another thread loads them, wait for it
            if self.module not in sys.modules:
                self._load()
            return importlib.import_module(self.module)

    @contextmanager
    def reserve(self) -> Iterator[None]:
        """Reserve them for this thread while it loads them; searches in other threads work without them."""
        with self._lock:
            before, self._owner = self._owner, get_ident()
            try:
                yield
            finally:
                self._owner = before

    def mark_complete(self) -> None:
        """Record that this process has every kernel, and that the compiled code is in the cache."""
        if self._cache == self._folder():
            with atomic_write(self._cache / COMPLETE) as file:
                file.write(self._stamps().encode("ascii"))

    def can_be_kept(self) -> bool:
        """Whether compiled code can be written to RANKWELL_HOME."""
        folder = self._folder()
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        return folder.is_dir() and os.access(folder, os.W_OK)

    def cache_folder(self) -> Path:
        """A writable folder for compiled code; Rankwell's installation often is read-only."""
        folder = self._folder()
        if self.can_be_kept():
            return folder
        logger.warning("%s cannot be written to: kernels are compiled anew in every process", folder)
        return Path(tempfile.mkdtemp(prefix="rankwell-kernels-"))

    def _load(self) -> None:
        config: Any = importlib.import_module("numba").config
        folder = self._cache = self.cache_folder()
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            importlib.import_module(self.module)
        finally:
            config.CACHE_DIR = before
        if self.announced and not any(folder.rglob("*.nbi")):
            sys.stderr.write(f"rankwell: compiling {self.announced}, once on this machine (some seconds)\n")

    def _folder(self) -> Path:
        """The cache folder, named by the source: numba checks only a function's file, not those it calls.

        Named by the processor too: numba can distinguish the code of several processors, but two machines that compile
        into one folder at the same time may overwrite each other's files.
        """
        digest = hashlib.sha256(repr(target()).encode())
        for source in self._sources():
            digest.update(source.read_bytes())
        return home() / "kernels" / digest.hexdigest()[:16]

    def _stamps(self) -> str:
        """What numba's cache depends on: its version, and the dates of the sources."""
        dates = [source.stat().st_mtime for source in self._sources()]
        return repr((importlib.import_module("numba").__version__, dates))

    def _sources(self) -> list[Path]:
        spec = importlib.util.find_spec(self.module)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(self.module)
        file = Path(spec.origin)
        return sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else [file]


def target() -> tuple[str, str, str]:
    """The system, the processor and its features that numba compiles for.

    They are those of this machine unless NUMBA_CPU_NAME or NUMBA_CPU_FEATURES are set.
    """
    registry: Any = importlib.import_module("numba.core.registry")
    system, name, features = registry.cpu_target.target_context.codegen().magic_tuple()
    return str(system), str(name), str(features)


def target_features() -> set[str]:
    """The features that numba compiles for, by LLVM's names: avx2, avx512vnni, ..."""
    return {feature[1:] for feature in target()[2].split(",") if feature.startswith("+")}
