"""What machine this is: cores and memory, as much of them as this process may use, and how it multiplies bytes."""

from __future__ import annotations

import os
import platform
from collections.abc import Set as AbstractSet
from importlib import import_module
from pathlib import Path
from typing import Any

from rankwell.dense.loading import runnable_kernels
from rankwell.doctor.findings import Finding, Section, megabytes

CGROUP = Path("/sys/fs/cgroup")  # where Linux says what a container may use
X86 = ("x86_64", "amd64")
VNNI = {"avx512vnni", "avxvnni"}  # either has the instruction
KERNEL_NAMES = {
    "vnni": "the kernel for AVX512-VNNI",
    "avx2": "the kernel for AVX2",
    "plain": "the plain kernel, for processors without AVX2",
}


def machine() -> Section:
    """The system, its cores and its memory."""
    system = Finding("system", f"{platform.system()} {platform.machine()}")
    return Section("Machine", [system, _cores(), _memory(), *_products()])


def _products() -> list[Finding]:
    """How bytes are multiplied, by models of type int8 and by exact search among vectors."""
    try:
        binding: Any = import_module("llvmlite.binding")
        features = {name for name, there in binding.get_host_cpu_features().items() if there}
        kernel = runnable_kernels()[0]
    except (ImportError, RuntimeError):  # told among the versions; not every processor is known
        return [Finding("int8 products", None, "unknown")]
    return [int8_products(platform.machine(), features), Finding("vector search", kernel, KERNEL_NAMES[kernel])]


def int8_products(architecture: str, features: AbstractSet[str]) -> Finding:
    """How a processor sums the products of an int8 model, by its features (LLVM's names)."""
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
    """How many cores' time a container may take, by a file that says `QUOTA PERIOD`; None where nothing limits it."""
    try:
        quota, period = file.read_text(encoding="ascii").split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _memory() -> Finding:
    """Physical memory, or what a container may take of it."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system tells
        return Finding("memory", None, "unknown")
    limit = memory_limit(CGROUP / "memory.max")
    if limit is not None and limit < total:
        return Finding("memory", limit, f"{megabytes(limit)} (of {megabytes(total)} in the machine)")
    return Finding("memory", total, megabytes(total))


def memory_limit(file: Path) -> int | None:
    """The bytes that a container may take; None where the file says `max`, or is not there."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
