"""The real server, in a process of its own, started by its command."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from inbox import free_port


@dataclass
class ScreeningServer:
    """A server that runs; `said` is the file with what it printed."""

    process: subprocess.Popen[bytes]
    url: str
    said: Path

    def link(self, reviewer: str = "Reviewer") -> str:
        return re.findall(rf"^{re.escape(reviewer)}: (http\S+)$", self.said.read_text(), re.MULTILINE)[0]


def start_screening(project: Path, said: Path, *options: str) -> ScreeningServer:
    port = free_port()
    command = [sys.executable, "-m", "rankwell", "review", "screen", str(project), "--port", str(port), *options]
    with said.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    server = ScreeningServer(process, f"http://127.0.0.1:{port}", said)
    for _ in range(600):
        assert process.poll() is None, said.read_text()
        try:
            with urlopen(f"{server.url}/favicon.ico", timeout=5):  # noqa: S310 -- our own server
                return server
        except (URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(said.read_text())


@contextmanager
def screening(project: Path, said: Path, *options: str) -> Iterator[ScreeningServer]:
    """A server while the block runs; it must then stop by itself when it is asked to."""
    server = start_screening(project, said, *options)
    try:
        yield server
        server.process.terminate()
        server.process.wait(20)
    finally:
        server.process.kill()
        server.process.wait()
