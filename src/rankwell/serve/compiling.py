"""Compiled kernels for a server that answers from the start: another process compiles them, then they are loaded.

Until then searches score with numpy alone, which is slower and gives the same results. Compiling in the server's own
process would hold Python's lock, and answers would wait for it.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from threading import Lock

from rankwell.dense.loading import kernels as vector_kernels
from rankwell.dense.warming import KERNELS, warm
from rankwell.index.loading import kernels as search_kernels
from rankwell.serve.priority import step_back

logger = logging.getLogger("rankwell.web.serve")


class KernelLoader:
    """Makes the kernels ready, in a thread beside the searches."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None
        self.closed = False

    def load(self) -> None:
        """Compile the kernels where they are not, and load them."""
        with search_kernels.reserve(), vector_kernels.reserve():
            if self._is_new():
                self._compile()
            if not self.closed:
                warm()

    def close(self) -> None:
        """Stop compiling: what is finished by then is kept."""
        with self._lock:
            self.closed = True
            if self._process is not None:
                self._process.terminate()

    @staticmethod
    def _is_new() -> bool:
        """Whether another process has something to compile, and can hand it over through RANKWELL_HOME."""
        missing = [group for group, _ in KERNELS.values() if not (group.loaded or group.complete)]
        return bool(missing) and all(group.can_be_kept() for group in missing)

    def _compile(self) -> None:
        logger.info("compiling kernels, once on this machine: searches are slower until that is done")
        with self._lock:
            if self.closed:
                return
            # A session of its own, so that Ctrl-C reaches the server alone, which then ends it.
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
