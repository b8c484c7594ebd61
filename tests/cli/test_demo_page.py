"""The last step of the demonstration: a real server, asked once, then stopped or kept open until Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from rankwell.core import Document
from rankwell.index import IndexWriter

SHOW = "import sys; from pathlib import Path; from rankwell.cli.demo import show_page\n"
SHOW += "show_page(Path('index'), None, 'do masks help', stay=sys.argv[1] == 'stay')"
ADDRESS = re.compile(r"The page: (http://127\.0\.0\.1:\d+)")


@pytest.fixture
def show(tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    with IndexWriter(tmp_path / "index") as writer:
        writer.add_all([Document("p1", {"title": "Masks help"}), Document("p2", {"title": "Soap helps"})])

    def start(how: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-u", "-c", SHOW, how]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(command, text=True, cwd=tmp_path, start_new_session=True, **pipes)

    return start


@pytest.mark.slow
def test_without_a_terminal_the_page_is_asked_once_and_closed(show: Callable[[str], subprocess.Popen[str]]) -> None:
    process = show("leave")
    said, _ = process.communicate(timeout=200)
    assert "asked for 'do masks help', it answers 'p1'" in said
    assert "rankwell serve index" in said
    assert ADDRESS.search(said), said
    with pytest.raises(ProcessLookupError):  # no process is left; another test's server may have the port by now
        os.killpg(process.pid, 0)


@pytest.mark.slow
def test_a_page_that_stays_ends_well_with_ctrl_c(show: Callable[[str], subprocess.Popen[str]]) -> None:
    with show("stay") as process:
        assert process.stdout is not None
        said = ""
        while not ADDRESS.search(said):
            line = process.stdout.readline()
            assert line, said
            said += line
        assert "Ctrl-C stops it" in said
        with urlopen(ADDRESS.search(said)[1], timeout=60) as page:  # type: ignore[index]  # noqa: S310 -- our own server
            assert "<html" in page.read().decode()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everyone who runs in it
        rest = process.stdout.read()
        assert process.wait(60) == 0, rest
        assert "rankwell serve index" in rest


def test_a_page_that_cannot_start_is_left_out_with_its_reason(
    show: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    for file in (tmp_path / "index").iterdir():
        file.unlink() if file.is_file() else None
    said, _ = show("leave").communicate(timeout=200)
    assert "left out: the page did not start:" in said
    assert "Traceback" not in said
