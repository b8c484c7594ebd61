"""Run the numeric tests under emulated processors: `make test-processors`, which is part of `make test-all`.

QEMU's user mode runs this Python as if it were on an older processor: ONNX Runtime, numpy and numba then choose the
code that they would choose there. Processes that a test starts run on the real processor, because only this process is
emulated. Kernels are compiled on the real processor for the emulated one; under QEMU that would take minutes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

QEMU = "qemu-x86_64"
# What each has, and what it therefore stands for.
PROCESSORS: Mapping[str, str] = MappingProxyType(
    {"Haswell": "AVX2 without VNNI", "Nehalem": "neither AVX nor AVX2: sums of int8 products are exact"}
)
# QEMU 7.2 has faults of its own. It reads past the end of what a masked AVX load asks for, and crashes where the next
# page is not mapped: memory from the heap always has a mapped neighbour. And numpy's argsort for AVX2 is wrong in it.
ENVIRONMENT = {"MALLOC_MMAP_MAX_": "0", "NPY_DISABLE_CPU_FEATURES": "X86_V3", "HF_HUB_OFFLINE": "1"}
FEATURES = "import llvmlite.binding as b; print(b.get_host_cpu_name(), b.get_host_cpu_features().flatten())"
NOISE = "TCG doesn't support requested feature"
PYTEST = ("-m", "pytest", "-q", "-m", "numeric and not slow", "-p", "no:xdist", "-p", "no:cacheprovider")
NO_TESTS = 5  # what pytest returns when there are none


def main() -> int:
    """Run the tests once for each processor, all at the same time; 0 where all pass."""
    if shutil.which(QEMU) is None:
        print(f"qemu is not here: install Debian's qemu-user to run the numeric tests under {', '.join(PROCESSORS)}")  # noqa: T201 -- a script
        return int("qemu" in os.environ.get("RANKWELL_REQUIRE", "").split(","))
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(run, PROCESSORS))
    return max(done)


def run(processor: str) -> int:
    """The numeric tests under one processor; what they say is printed at their end."""
    home = prepare_home(processor)
    # OpenBLAS, asked for nothing, takes an AVX kernel under an emulated Nehalem on AMD's processors and crashes.
    environment = {**os.environ, **ENVIRONMENT, "RANKWELL_HOME": str(home), "OPENBLAS_CORETYPE": processor}
    python = [QEMU, "-cpu", processor, sys.executable]
    told = subprocess.run([*python, "-c", FEATURES], capture_output=True, text=True, check=True, env=environment)
    environment["NUMBA_CPU_NAME"], environment["NUMBA_CPU_FEATURES"] = told.stdout.split()
    # Fails on a processor that is older than the emulated one; then the tests compile what they need.
    warm = [sys.executable, "-m", "rankwell", "doctor", "--warm"]
    subprocess.run(warm, capture_output=True, check=False, env=environment)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run([*python, *PYTEST, *sys.argv[1:], *numeric_files()], **pipes, check=False, env=environment)
    lines = [line for line in done.stdout.splitlines() if NOISE not in line]
    print(f"\n{processor}: {PROCESSORS[processor]}", *lines, sep="\n", flush=True)  # noqa: T201 -- a script
    return 0 if done.returncode == NO_TESTS else abs(done.returncode)


def numeric_files() -> list[str]:
    """The files that have such tests: to import all the others, and torch for them, would be slow under QEMU."""
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    return [str(file) for file in files if "mark.numeric" in file.read_text(encoding="utf-8")]


def prepare_home(processor: str) -> Path:
    """A home for this processor alone, with the fetched models in it."""
    from rankwell.core import home

    folder = home() / "emulated" / processor
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "models").is_symlink():
        (folder / "models").symlink_to(home() / "models")
    return folder


if __name__ == "__main__":
    sys.exit(main())
