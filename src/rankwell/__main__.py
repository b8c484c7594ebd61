"""The way in: `python -m rankwell` and the command `rankwell`."""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 3


def main() -> None:
    """Run the command. Ctrl-C while its parts are still being loaded ends it with one line too."""
    signal.signal(signal.SIGINT, _leave)
    from rankwell.cli import main as run

    run()


def _leave(number: int, frame: object) -> None:  # noqa: ARG001 -- what a signal handler is given
    """End at once: nothing has been done yet, and an exception in the middle of a library's start may crash it."""
    sys.stderr.write("rankwell: interrupted before anything was done\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
