"""Commands as users type them, run in this process: starting a Python and loading libraries would take a second each.

What is printed, notes and exit codes are those of `python -m rankwell`. Tests of signals, kills and of what a fresh
process loads start a process of their own.
"""

from __future__ import annotations

import io
import logging
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

from rankwell.cli import main


def rankwell(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The outcome of `rankwell WORDS`."""
    arguments = ["rankwell", *map(str, words)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    root, interrupt = logging.getLogger(), signal.getsignal(signal.SIGINT)
    handlers, root.handlers = root.handlers, []  # a fresh process has none, and notes go to stderr
    try:
        with mock.patch.multiple(sys, argv=arguments, stdout=out, stderr=err):
            main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        root.handlers = handlers
        signal.signal(signal.SIGINT, interrupt)
    printed, said = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(arguments, code, printed, said)


def succeeds(*words: str | Path) -> str:
    """What a command prints that has to end well."""
    done = rankwell(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout
