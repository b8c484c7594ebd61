"""The compiled kernels of exact search among vectors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rankwell.core.kernels import Kernels, target_features

kernels = Kernels("rankwell.dense.kernels")

# What a processor must have for each kernel, by LLVM's names; the fastest kernel first.
FEATURES: Mapping[str, frozenset[str]] = MappingProxyType(
    {"vnni": frozenset({"avx512f", "avx512vnni"}), "avx2": frozenset({"avx2"}), "plain": frozenset()}
)


def runnable_kernels() -> list[str]:
    """The kernels that the processor can run, the fastest first: a search uses the first one.

    It is the processor that numba compiles for: this one, unless NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name another.
    """
    there = target_features()
    return [name for name, needed in FEATURES.items() if needed <= there]
