"""Load or compile kernels before the first search: those of vectors, and all of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from rankwell.core.kernels import Kernels
from rankwell.index.compiled import kernels as search_kernels
from rankwell.index.warming import warm_search
from rankwell.vectors.exact import kernels, scanned
from rankwell.vectors.manifest import Manifest
from rankwell.vectors.quantise import query_codes, unit
from rankwell.vectors.writer import VectorWriter

FEW, DIMENSIONS = 4, 100


def warm_vectors() -> None:
    """Load or compile the kernel of exact vector search, by searching a few vectors."""
    vectors = unit(np.random.default_rng(0).standard_normal((FEW, DIMENSIONS)).astype(np.float32))
    with kernels.reserve(), tempfile.TemporaryDirectory() as folder:
        kernels()
        with VectorWriter(Path(folder), Manifest("warming", {}, "warming", DIMENSIONS)) as writer:
            writer.add(np.arange(1, FEW + 1, dtype=np.uint64), vectors)
            list(scanned(writer.rows(), query_codes(vectors[:2]), 1, None, threads=1))
        kernels.mark_complete()


# All groups of kernels that searches use, with the function that loads each.
KERNELS: Mapping[str, tuple[Kernels, Callable[[], None]]] = MappingProxyType(
    {"search": (search_kernels, warm_search), "vectors": (kernels, warm_vectors)}
)


def warm() -> None:
    """Load or compile all kernels: afterwards no search on this machine compiles anything."""
    for _, make_ready in KERNELS.values():
        make_ready()
