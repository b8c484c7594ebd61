"""Findings about this machine: cores, memory, processor, compiled kernels, and Rankwell's own folder."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from rankwell.core import RankwellError, home
from rankwell.core.kernels import Kernels
from rankwell.core.run_lines import kernels as run_kernels
from rankwell.core.run_lines import warm_runs
from rankwell.vectors.search import KERNELS, runnable_kernels

GOOD, NOTE, BROKEN = "good", "note", "broken"

Value: TypeAlias = str | int | float | None


@dataclass(frozen=True)
class Finding:
    """One fact. `note` is something that could be better, `broken` something that must be fixed."""

    name: str
    value: Value
    shown: str = ""  # the value as text, where it is a number
    state: str = GOOD
    way_out: str = ""

    def __str__(self) -> str:
        return self.shown or ("-" if self.value is None else str(self.value))

    def as_dict(self) -> dict[str, Value]:
        """The finding for JSON."""
        return {"value": self.value, "says": str(self), "state": self.state, "way_out": self.way_out or None}


class CheckupSection(NamedTuple):
    """The findings of one kind with a title."""

    title: str
    findings: Sequence[Finding]


def megabytes(size: float) -> str:
    """Bytes as text: 221 MB, 1.4 GB."""
    if size < 1e9:  # noqa: PLR2004 -- a gigabyte
        return f"{size / 1e6:,.0f} MB"
    return f"{size / 1e9:,.1f} GB"


def first_line(error: Exception) -> str:
    """What an error says, in one line."""
    return (str(error).splitlines() or [""])[0] or type(error).__name__


CGROUP = Path("/sys/fs/cgroup")  # limits of a Linux container
X86 = ("x86_64", "amd64")
VNNI = {"avx512vnni", "avxvnni"}  # either has the instruction
KERNEL_NAMES = {
    "vnni": "the kernel for AVX512-VNNI",
    "avx2": "the kernel for AVX2",
    "plain": "the plain kernel, for processors without AVX2",
}


def machine() -> list[Finding]:
    """The system, its cores and its memory, and the processor's instructions for int8 models and vector search."""
    findings = [Finding("system", f"{platform.system()} {platform.machine()}"), _cores(), _memory()]
    try:
        binding: Any = import_module("llvmlite.binding")
        features = {name for name, there in binding.get_host_cpu_features().items() if there}
        kernel = runnable_kernels()[0]
    except (ImportError, RuntimeError):  # reported with the packages; not every processor is known
        return [*findings, Finding("int8 products", None, "unknown")]
    search = Finding("vector search", kernel, KERNEL_NAMES[kernel])
    return [*findings, int8_products(platform.machine(), features), search]


def int8_products(architecture: str, features: set[str]) -> Finding:
    """The int8 instructions of a processor by its features (LLVM's names)."""
    name = "int8 products"
    if architecture.lower() not in X86:
        return Finding(name, None, f"not tried on {architecture}: int8 models may give other scores than on x86")
    if features & VNNI:
        return Finding(name, "vnni", "VNNI: sums are exact")
    if "avx2" in features:
        ours = "the weights of Rankwell's int8 models keep below that, and scores are those of VNNI"
        return Finding(name, "avx2", f"AVX2 without VNNI: sums of two products saturate at 16 bits; {ours}")
    return Finding(name, None, "neither VNNI nor AVX2: int8 scores differ in the second digit, fp32 ones do not")


def _cores() -> Finding:
    there = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    share = core_share(CGROUP / "cpu.max")
    words = f"{usable}" if usable == there else f"{usable} of {there}"
    if share is not None and share < usable:
        words += f", but only the time of {share:g}: --threads {max(1, int(share))} is faster than the default"
    return Finding("cores", usable, words)


def core_share(file: Path) -> float | None:
    """Number of cores that a container may use, by a file with `QUOTA PERIOD`; None without a limit."""
    try:
        quota, period = file.read_text(encoding="ascii").split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _memory() -> Finding:
    """Physical memory, or a container's limit."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on every system
        return Finding("memory", None, "unknown")
    limit = memory_limit(CGROUP / "memory.max")
    if limit is not None and limit < total:
        return Finding("memory", limit, f"{megabytes(limit)} (of {megabytes(total)} in the machine)")
    return Finding("memory", total, megabytes(total))


def memory_limit(file: Path) -> int | None:
    """A container's memory limit in bytes; None where the file says `max` or is missing."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


ANOTHER_HOME = "set RANKWELL_HOME to a folder that you may write to"
WARM = "`rankwell doctor --warm` compiles them now"


class Warmed(NamedTuple):
    """A compiled group of kernels: number of compiled functions, and seconds."""

    name: str
    functions: int
    seconds: float

    def __str__(self) -> str:
        done = f"compiled {self.functions} functions" if self.functions else "compiled before, loaded"
        return f"{self.name}: {done} in {self.seconds:.1f} s"


GROUPS = {**KERNELS, "runs": (run_kernels, warm_runs)}


def kernels() -> list[Finding]:
    """For each group of kernels, whether it is compiled already."""
    return [_compiled(name, group) for name, (group, _) in GROUPS.items()]


def warm_kernels() -> Iterator[Warmed]:
    """Compile all kernels that are not compiled yet, group by group, and cache them in RANKWELL_HOME."""
    for name, (group, make_ready) in GROUPS.items():
        if not group.can_be_kept():
            raise RankwellError(
                f"{home() / 'kernels'}: expected a folder for compiled kernels, found none: {ANOTHER_HOME}"
            )
        before, begun = group.compiled, time.perf_counter()
        make_ready()
        yield Warmed(name, group.compiled - before, time.perf_counter() - begun)


def _compiled(name: str, group: Kernels) -> Finding:
    if group.complete:
        return Finding(name, "compiled")
    if group.compiled:
        return Finding(name, "partly compiled", f"partly compiled: the rest is compiled when first used; {WARM}")
    return Finding(name, None, f"not compiled yet: the first use takes some seconds more; {WARM}")


KEPT = {
    "models": "fetched models",
    "exports": "models made ready to run; remade when they are missing",
    "kernels": "compiled inner loops; remade when they are missing",
    "scores": "scores of re-rankers; safe to delete",
    "pubmed": "answers of PubMed; safe to delete",
    "vectors": "what BERT read in records to screen; safe to delete",
}
LITTLE = 1e9  # bytes; a model takes 20 to 90 MB to fetch and as much again to run


def places() -> list[Finding]:
    """RANKWELL_HOME, the size of its parts, and the free space."""
    folder = home()
    named = "RANKWELL_HOME" if os.environ.get("RANKWELL_HOME") else "RANKWELL_HOME names another"
    findings = [_writable(folder, named), _room(folder)]
    for part, what in KEPT.items():
        size = folder_size(folder / part)
        if size is not None:
            findings.append(Finding(part, size, f"{megabytes(size)} of {what}"))
    return findings


def _writable(folder: Path, named: str) -> Finding:
    """Whether a file can be written there; tested by writing one."""
    existing, shown = _nearest(folder), f"{folder} ({named})"
    if not existing.is_dir():
        return Finding("folder", str(folder), f"{shown}: {existing} is no folder", BROKEN, ANOTHER_HOME)
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        why = error.strerror or type(error).__name__
        return Finding("folder", str(folder), f"{shown} cannot be written to: {why}", BROKEN, ANOTHER_HOME)
    yet = "" if existing == folder else "; it is made when it is needed"
    return Finding("folder", str(folder), f"{shown}{yet}")


def _room(folder: Path) -> Finding:
    try:
        free = shutil.disk_usage(_nearest(folder)).free
    except OSError as error:
        return Finding("free disk", None, f"unknown: {error.strerror or type(error).__name__}")
    if free < LITTLE:
        way_out = "make room, or set RANKWELL_HOME to a folder on another disk"
        return Finding("free disk", free, f"{megabytes(free)}: little for models and caches", NOTE, way_out)
    return Finding("free disk", free, megabytes(free))


def _nearest(folder: Path) -> Path:
    """The folder itself, or its nearest existing parent."""
    return next((path for path in (folder, *folder.absolute().parents) if os.path.lexists(path)), folder)


def folder_size(folder: Path) -> int | None:
    """The bytes of the files below a folder, links to them included; None where there is no such folder."""
    if not folder.is_dir():
        return None
    return sum(_size(Path(above) / name) for above, _, names in os.walk(folder, followlinks=True) for name in names)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # just deleted, or a broken link
        return 0
