"""The server's process: compiling kernels, garbage collection, thread priorities, memory."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import subprocess
import sys
import threading
from concurrent.futures import Future, InvalidStateError
from pathlib import Path
from typing import TypeVar

from rankwell.index.compiled import kernels as search_kernels
from rankwell.vectors.search import KERNELS, warm
from rankwell.vectors.search import kernels as vector_kernels

NICE = 10  # of 19: about a tenth of a core beside a busy search thread, all of an idle core
TURN = 0.0005  # seconds
OFTEN = 10_000  # new objects between two collections; Python's default of 700 is less than one answer creates
T = TypeVar("T")
logger = logging.getLogger("rankwell.web.serve")


def settle(future: Future[T], outcome: T | BaseException) -> None:
    """Set a future's result or exception, unless its caller has cancelled it."""
    with contextlib.suppress(InvalidStateError):
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


def take_turns(seconds: float = TURN) -> None:
    """Set how long a thread may hold the GIL while others wait for it, for the whole process.

    Python's default of 5 ms is ten times what a search needs: with a model running in parallel, the 99th percentile
    of searches was 40 to 90 ms with this and about 300 ms without (two cores that others used too).
    """
    sys.setswitchinterval(seconds)


def step_back(nice: int = NICE) -> None:
    """Lower the priority of the calling thread and of threads that it starts.

    Linux gives each thread a priority of its own. Elsewhere this would change the whole process, so nothing is done.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a sandbox may forbid it; then all threads have the same priority
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)


class KernelLoader:
    """Compiles and loads the kernels in a background thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self.closed = False

    def load(self) -> None:
        """Compile the kernels if needed, and load them."""
        with search_kernels.reserve(), vector_kernels.reserve():
            if self._is_new():
                self._compile()
            if not self.closed:
                warm()

    def close(self) -> None:
        """Stop compiling; kernels that are finished are kept."""
        with self._lock:
            self.closed = True
            if self._process is not None:
                self._process.terminate()

    @staticmethod
    def _is_new() -> bool:
        """Whether kernels must be compiled, and another process can do it and pass them on through RANKWELL_HOME."""
        missing = [group for group, _ in KERNELS.values() if not (group.loaded or group.complete)]
        return bool(missing) and all(group.can_be_kept() for group in missing)

    def _compile(self) -> None:
        logger.info("compiling kernels, once on this machine: searches are slower until that is done")
        with self._lock:
            if self.closed:
                return
            # In a session of its own, so that Ctrl-C reaches only the server, which then stops it.
            self._process = subprocess.Popen(  # noqa: S603 -- our own module
                [sys.executable, "-m", __name__],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        _, said = self._process.communicate()
        if self._process.returncode and not self.closed:
            last = (said.strip().splitlines() or ["no reason given"])[-1]
            logger.warning("kernels were not compiled beside the server, but will be in it: %s", last)


if __name__ == "__main__":
    step_back()
    warm()


def spare_what_stays() -> None:
    """Exclude all objects that exist now from garbage collection, for the whole process.

    Otherwise searches pause while the collector scans modules and kernels: at most 46 ms and on average 0.2 ms
    a request were measured, 4 ms and 0.005 ms with this.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(OFTEN)


def resident_bytes() -> int:
    """Bytes of memory in use now; the peak where the system does not say; 0 where it says neither."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def open_descriptors() -> int:
    """Number of open file descriptors; 0 where the system does not say."""
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        return 0
