"""Making the compiled kernels ready before anybody waits for them: those of vectors, and all of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from rankwell.core.kernels import Kernels
from rankwell.dense.exact import scanned
from rankwell.dense.loading import kernels
from rankwell.dense.manifest import Manifest
from rankwell.dense.quantise import query_codes, unit
from rankwell.dense.writer import VectorWriter
from rankwell.index.loading import kernels as search_kernels
from rankwell.index.warming import warm_search

FEW, DIMENSIONS = 4, 100


def warm_vectors() -> None:
    """Load the kernel of exact search among vectors, or compile it, by searching a few vectors."""
    vectors = unit(np.random.default_rng(0).standard_normal((FEW, DIMENSIONS)).astype(np.float32))
    with kernels.reserve(), tempfile.TemporaryDirectory() as folder:
        kernels()
        with VectorWriter(Path(folder), Manifest("warming", {}, "warming", DIMENSIONS)) as writer:
            writer.add(np.arange(1, FEW + 1, dtype=np.uint64), vectors)
            list(scanned(writer.rows(), query_codes(vectors[:2]), 1, None, threads=1))
        kernels.mark_complete()


# All groups of kernels that searches use, and what makes each ready.
KERNELS: Mapping[str, tuple[Kernels, Callable[[], None]]] = MappingProxyType(
    {"search": (search_kernels, warm_search), "vectors": (kernels, warm_vectors)}
)


def warm() -> None:
    """Make all of them ready: afterwards no search on this machine compiles anything."""
    for _, make_ready in KERNELS.values():
        make_ready()
