"""The compiled inner loops: compiled on this machine already, or about to be."""

from __future__ import annotations

from rankwell.core.kernels import Kernels
from rankwell.doctor.findings import Finding, Section

KERNELS = {"search": "rankwell.index.kernels", "vectors": "rankwell.dense.kernels"}


def kernels() -> Section:
    """Of each group whether it will be compiled when it is first used."""
    return Section("Kernels", [_compiled(name, Kernels(module)) for name, module in KERNELS.items()])


def _compiled(name: str, found: Kernels) -> Finding:
    if found.compiled:
        return Finding(name, "compiled")
    return Finding(name, None, "not compiled yet: the first use takes some seconds more")
