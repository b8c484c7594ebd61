"""The real server, in a process of its own, started by its command."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from inbox import Letters, free_port


@dataclass
class Server:
    """A server that runs; `said` is the file with what it printed."""

    process: subprocess.Popen[bytes]
    url: str
    said: Path

    def words(self) -> str:
        return self.said.read_text()


def start_server(database: Path | str, said: Path, *options: str, port: int | None = None, **extra: str) -> Server:
    port = port or free_port()
    command = [sys.executable, "-m", "rankwell", "assess", "serve", str(database), "--port", str(port), *options]
    with said.open("ab") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env={**os.environ, **extra})
    server = Server(process, f"http://127.0.0.1:{port}", said)
    for _ in range(600):
        assert process.poll() is None, server.words()
        try:
            with urlopen(f"{server.url}/favicon.ico", timeout=5):  # noqa: S310 -- our own server
                return server
        except (URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(server.words())


@contextmanager
def running(database: Path | str, said: Path, *options: str, **extra: str) -> Iterator[Server]:
    """A server while the block runs; it must then stop by itself when it is asked to."""
    server = start_server(database, said, *options, **extra)
    try:
        yield server
        server.process.terminate()
        server.process.wait(20)
    finally:
        server.process.kill()
        server.process.wait()


def mail_environment(letters: Letters) -> dict[str, str]:
    """What tells a server to mail to a server of ours."""
    return {
        "RANKWELL_SMTP_HOST": "127.0.0.1",
        "RANKWELL_SMTP_PORT": str(letters.port),
        "RANKWELL_SMTP_FROM": "study@example.org",
        "RANKWELL_SMTP_SECURITY": "none",
    }
