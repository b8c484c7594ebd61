"""The compiled inner loops: compiled on this machine already, or about to be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from rankwell.core import RankwellError, home
from rankwell.core.kernels import Kernels
from rankwell.dense.warming import KERNELS
from rankwell.doctor.findings import Finding, Section

WARM = "`rankwell doctor --warm` compiles them now"


class Warmed(NamedTuple):
    """A group of kernels that is ready now: how many functions were compiled for it, and how long it took."""

    name: str
    functions: int
    seconds: float

    def __str__(self) -> str:
        done = f"compiled {self.functions} functions" if self.functions else "compiled before, loaded"
        return f"{self.name}: {done} in {self.seconds:.1f} s"


def kernels() -> Section:
    """Of each group whether it will be compiled when it is first used."""
    return Section("Kernels", [_compiled(name, group) for name, (group, _) in KERNELS.items()])


def warm_kernels() -> Iterator[Warmed]:
    """Compile every kernel that is not compiled yet, group by group, and keep the result in RANKWELL_HOME."""
    for name, (group, make_ready) in KERNELS.items():
        if not group.can_be_kept():
            way_out = "set RANKWELL_HOME to a folder that you may write to"
            raise RankwellError(f"{home() / 'kernels'}: expected a folder for compiled kernels, found none: {way_out}")
        before, begun = group.compiled, time.perf_counter()
        make_ready()
        yield Warmed(name, group.compiled - before, time.perf_counter() - begun)


def _compiled(name: str, group: Kernels) -> Finding:
    if group.complete:
        return Finding(name, "compiled")
    if group.compiled:
        return Finding(name, "partly compiled", f"partly compiled: the rest is compiled when first used; {WARM}")
    return Finding(name, None, f"not compiled yet: the first use takes some seconds more; {WARM}")
