"""Programs that run in a process of their own, forked from one that has PyTorch and its libraries loaded already.

Loading them takes about six seconds of CPU, and tests of killed trainings start forty programs.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

# Reads a program a line and answers twice: the process id when it has begun, the exit status when it has ended.
SERVER = """
import json, os, sys, traceback
import sentence_transformers
from transformers import BertModel, Trainer
import rankwell.models.learning.hugging_face, rankwell.training

for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        status = 1
        try:
            os.environ.update(asked["environment"])
            said = os.open(asked["said"], os.O_WRONLY | os.O_CREAT)
            null = os.open(os.devnull, os.O_RDWR)
            for number, file in enumerate((null, said, said)):
                os.dup2(file, number)
            exec(asked["code"], {"__name__": "__main__"})
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@cache
def _server() -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", SERVER], text=True, bufsize=1, **pipes)


class WarmProcess:
    """A running program; one at a time."""

    def __init__(self, code: str) -> None:
        self.said = Path(tempfile.mkdtemp()) / "said.txt"
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        self._answers = server.stdout
        asked = {"code": code, "said": str(self.said), "environment": dict(os.environ)}
        server.stdin.write(json.dumps(asked) + "\n")
        line = self._answers.readline()
        assert line, "the process with PyTorch is gone"
        self.pid = int(line)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._answers], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = int(self._answers.readline())
        return self.returncode

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def stderr(self) -> str:
        """What it printed, on standard output too."""
        return self.said.read_text()


def run_warm(code: str, status: int = 0) -> str:
    """Run a program to its end; what it printed."""
    process = WarmProcess(code)
    assert process.wait() == status, process.stderr()
    return process.stderr()


def kill_when(there: Path, code: str) -> None:
    """Run a program, and kill it when a file is there."""
    process = WarmProcess(code)
    while not there.exists():
        assert process.poll() is None, process.stderr()
        time.sleep(0.005)
    process.kill()
    assert process.returncode == -signal.SIGKILL, process.stderr()
