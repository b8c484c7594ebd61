"""A real server of ours, in a process of its own, started by its command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from inbox import free_port
from waiting import wait_until

LIMIT = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass
class Server:
    """A server that runs; `said` is the file with what it printed."""

    process: subprocess.Popen[bytes]
    url: str
    said: Path

    def words(self) -> str:
        return self.said.read_text()


def started(
    words: list[str], said: Path, port: int | None = None, *, descriptors: int | None = None, **extra: str
) -> Server:
    """The server of `rankwell WORDS --port PORT`, when it answers; with at most so many open files."""
    port = port or free_port()
    command = [sys.executable, "-m", "rankwell", *words, "--port", str(port)]
    with said.open("ab") as file:
        limited = [sys.executable, "-c", LIMIT, str(descriptors)] if descriptors else []
        process = subprocess.Popen([*limited, *command], stdout=file, stderr=file, env={**os.environ, **extra})
    server = Server(process, f"http://127.0.0.1:{port}", said)
    try:
        wait_until(lambda: process.poll() is not None or answers(server), server.words, pause=0.1)
        assert process.poll() is None, server.words()
    except BaseException:
        process.kill()
        process.wait()
        raise
    return server


def answers(server: Server) -> bool:
    try:
        with urlopen(f"{server.url}/favicon.ico", timeout=5):  # noqa: S310 -- our own server
            return True
    except OSError:  # nobody listens yet, or nobody answers
        return False


@contextmanager
def stopped(server: Server) -> Iterator[Server]:
    """The server while the block runs; it must then stop by itself when it is asked to."""
    try:
        yield server
        server.process.terminate()
        server.process.wait(60)
    finally:
        server.process.kill()
        server.process.wait()
