"""The code in README and docs runs as it is printed.

A page is one session in an empty folder. A block marked `python` is executed in the page's namespace; one marked
`console` has commands after `$ `, whose output must be what stands below them (`...` stands for anything); commands of
ours run in this process, unless a shell is needed. Any other block whose first line of marking names a file (`csv
papers.csv`) puts that file into the folder. A page that begins with `<!-- needs: models -->` uses the models of `make
setup`, one with `<!-- needs: chdb -->` the embedded ClickHouse engine; `<!-- needs: models, time -->` leaves a page
that trains to `make test-all`, `<!-- needs: bridges -->` one with other people's libraries to `make test-long`.
`rankwell serve DIR` would go on for ever: it is started at a port of its own, asked for one search, and goes on to the
end of the page, while later blocks reach it at the printed address.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from clickhouse_servers import need_chdb
from commands import succeeds
from inbox import free_port
from needs import require
from rankwell.index import Index
from servers import started, stopped

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?P<kind>[\w-]+)(?: (?P<name>[\w./-]+))?\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SERVER = re.compile(r"rankwell serve (?!keys\b|-)")
THEIRS = ("ignore:The inplace keyword", "ignore:unsafe cast")  # of PyTerrier and ranx
SHELL = re.compile(r"[|<>;&$*`]")  # what a shell must see to


@dataclass
class Servers:
    """The servers that a page starts."""

    stack: ExitStack
    said: Path
    ports: dict[str, str] = field(default_factory=dict)  # the printed port, and the one that was free

    def start(self, command: str) -> str:
        """Start what a page starts, and ask it once; what it said until then."""
        words = shlex.split(command)[1:]
        printed = "8080"
        if "--port" in words:
            place = words.index("--port")
            printed = words[place + 1]
            del words[place : place + 2]
        port = free_port()
        self.ports[f":{printed}"] = f":{port}"
        server = self.stack.enter_context(stopped(started(words, self.said, port)))
        asked(f"{server.url}/ready")
        some = " ".join(next(iter(Index.open(words[1]).documents.values())).fields.values())[:100]
        assert asked(f"{server.url}/api/search?{urlencode({'q': some, 'rerank': 'none'})}")["results"]
        return server.words()

    def moved(self, text: str) -> str:
        """The text with the ports that are really used."""
        for printed, free in self.ports.items():
            text = text.replace(printed, free)
        return text


def asked(address: str) -> dict[str, object]:
    """The answer of a server, which may say that it is busy for a while."""
    for _ in range(60):
        try:
            with urlopen(address, timeout=60) as answer:  # noqa: S310 -- our own server
                return dict(json.load(answer))
        except HTTPError as error:
            error.close()
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
            time.sleep(1)
    raise AssertionError(address)


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack, folder / "servers-said")


def needs(page: Path) -> set[str]:
    """What the first line of a page asks for."""
    found = re.match(r"<!-- needs: (.*) -->", page.read_text(encoding="utf-8"))
    return set(found[1].split(", ")) if found else set()


def with_marks(page: Path) -> object:
    marks = {"time": [pytest.mark.slow], "bridges": [pytest.mark.long, *(map(pytest.mark.filterwarnings, THEIRS))]}
    return pytest.param(page, id=page.name, marks=[mark for need in needs(page) for mark in marks.get(need, [])])


@pytest.mark.parametrize("page", [with_marks(page) for page in PAGES])
def test_the_code_on_a_page_runs(
    page: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if "models" in needs(page):
        request.getfixturevalue("use_models")
    if "chdb" in needs(page):
        need_chdb()
    if "bridges" in needs(page):
        require("bridges", there=find_spec("pyterrier") is not None, how="pip install 'rankwell[bridges]'")
        monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    with servers(tmp_path_factory.mktemp("servers")) as running:
        for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
            kind, name, body = block["kind"], block["name"], block["body"]
            if name:
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_text(body, encoding="utf-8")
            elif kind == "python":
                exec(compile(running.moved(body), page.name, "exec"), namespace)  # noqa: S102 -- our own documentation
            elif kind == "console":
                run_console(body, running)


def run_console(body: str, running: Servers) -> None:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        found = running.start(command) if SERVER.match(command) else output(running.moved(command))
        if expected.strip():
            matches = doctest.OutputChecker().check_output(running.moved(expected), found, FLAGS)
            assert matches, f"{command}\nexpected:\n{expected}\nfound:\n{found}"


def output(command: str) -> str:
    if command.startswith("rankwell ") and not SHELL.search(command):
        return succeeds(*shlex.split(command)[1:])
    if command.startswith("curl "):
        require("curl", there=shutil.which("curl") is not None, how="install curl")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def test_a_wrong_output_on_a_page_would_be_found(tmp_path: Path) -> None:
    with servers(tmp_path) as running, pytest.raises(AssertionError):
        run_console("$ echo right\nwrong\n", running)


def test_every_command_has_a_page() -> None:
    from rankwell.cli import COMMANDS

    commands = set(COMMANDS)
    pages = {page.stem for page in (ROOT / "docs" / "commands").glob("*.md")}
    assert commands == pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_on_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]
