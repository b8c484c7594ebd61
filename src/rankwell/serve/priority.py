"""Threads that share a process: searches go first, and nobody keeps the interpreter for long."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

NICE = 10  # of 19: against a busy search thread this gets about a tenth of a core, on an idle core all of it
TURN = 0.0005  # seconds


def take_turns(seconds: float = TURN) -> None:
    """Let whoever waits for Python's lock have it after this long, for the whole process.

    Python's own 5 ms are ten times what a search needs it for: with a model at work beside them, the 99th percentile of
    searches was 40 to 90 ms with this and about 300 ms without (two cores that others used too).
    """
    sys.setswitchinterval(seconds)


def step_back(nice: int = NICE) -> None:
    """Let the calling thread, and threads that it starts, run when others do not.

    Linux gives each thread a priority of its own. Elsewhere this would change the whole process, so nothing is done.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a sandbox may forbid it, and then all are equal
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
