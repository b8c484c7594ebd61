"""The last step of `rankwell demo`: the search page, started, asked, and shown or stopped."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import orjson

HOST, PORT = "127.0.0.1", 8080
PATIENCE = 300  # seconds for a server to start, on a machine with much else to do
LOCAL = build_opener(ProxyHandler({}))  # no proxy stands between us and ourselves


def show_page(index: Path, model: str | None, words: str, *, stay: bool) -> None:
    """Start the page and ask it once; then stay until Ctrl-C, or stop it and say how to start it again."""
    command = ["serve", str(index), *(["--rerank", model] if model else [])]
    address = f"http://{HOST}:{_free_port()}"
    with tempfile.TemporaryFile() as said, _started([*command, "--port", address.rpartition(":")[2]], said) as server:
        print("   it starts; the first time it compiles its inner loops, which takes some seconds more", flush=True)
        if not _is_ready(server, address):
            print(f"   left out: the page did not start: {_last_line(said)}")
            return
        _print_answer(words, _asked(address, words))
        if stay:
            print(f"\n   The page: {address}   (Ctrl-C stops it)\n", flush=True)
            _wait(server)
    print(f"   {'Again' if stay else f'The page: {address}, which is closed now; to open it'}:\n")
    print(f"       {shlex.join([_program(), *command])}\n")
    print("   And with documents of yours (CSV, JSON lines, a folder of texts, ...):\n")
    print(f"       {_program()} index YOURS.csv --out yours\n       {_program()} serve yours")


def _print_answer(words: str, found: dict[str, Any] | None) -> None:
    if found is None:
        print(f"   asked for {words!r}, it was too busy to answer")
        return
    first = found["results"][0]["id"] if found["results"] else "nothing"
    late = " (by words alone: BERT was not done in time)" if found.get("partial") else ""
    print(f"   asked for {words!r}, it answers {first!r} in {found['took_ms']:.0f} ms{late}")


@contextlib.contextmanager
def _started(command: list[str], said: BinaryIO) -> Iterator[subprocess.Popen[bytes]]:
    """A process of our own with the server, which ends with the block."""
    program = [sys.executable, "-m", "rankwell", *command, "--quiet"]
    with subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as server:  # noqa: S603 -- ours
        try:
            yield server
        finally:
            server.terminate()


def _is_ready(server: subprocess.Popen[bytes], address: str) -> bool:
    """Whether the server came to answer."""
    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        with contextlib.suppress(URLError, ConnectionError, TimeoutError), LOCAL.open(f"{address}/ready", timeout=5):
            return True
        time.sleep(0.1)
    return False


def _asked(address: str, words: str) -> dict[str, Any] | None:
    """The answer to a search; a busy server says 503, and is asked again for a while."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with LOCAL.open(f"{address}/api/search?{urlencode({'q': words})}", timeout=PATIENCE) as answer:
                return dict(orjson.loads(answer.read()))
        except HTTPError as error:
            error.close()
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
                return None
            time.sleep(1)
        except (OSError, TimeoutError):
            return None
    return None


def _wait(server: subprocess.Popen[bytes]) -> None:
    """Until the server ends. Ctrl-C reaches it as well, so that we only have to wait."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        server.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def _free_port() -> int:
    """The usual port, or any other where that is taken."""
    for port in (PORT, 0):
        with contextlib.suppress(OSError), socket.socket() as asked:
            asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            asked.bind((HOST, port))
            return int(asked.getsockname()[1])
    return PORT


def _last_line(said: BinaryIO) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("rankwell: ") if lines else "it said nothing"


def _program() -> str:
    """How this command is called here: by its name, or by its path where the name would not be found."""
    called = Path(sys.argv[0])
    found = shutil.which("rankwell")
    return "rankwell" if called.name != "rankwell" or (found and Path(found).samefile(called)) else str(called)
