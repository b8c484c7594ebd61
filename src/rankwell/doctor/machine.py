"""How much of a machine there is: cores and memory, as much of them as this process may use."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from rankwell.doctor.findings import Finding, Section, megabytes

CGROUP = Path("/sys/fs/cgroup")  # where Linux says what a container may use


def machine() -> Section:
    """The system, its cores and its memory."""
    return Section(
        "Machine",
        [Finding("system", f"{platform.system()} {platform.machine()}"), _cores(), _memory()],
    )


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
