"""The code in README and docs runs as it is printed.

A page is one session in an empty folder. A block marked `python` is executed in the page's namespace; one marked
`console` has commands after `$ `, whose output must be what stands below them (`...` stands for anything); any other
block whose first line of marking names a file (`csv papers.csv`) puts that file into the folder. A page that begins
with `<!-- needs: models -->` uses the models of `make setup`.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?P<kind>[\w-]+)(?: (?P<name>[\w./-]+))?\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_on_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if page.read_text(encoding="utf-8").startswith("<!-- needs: models -->"):
        request.getfixturevalue("use_models")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        kind, name, body = block["kind"], block["name"], block["body"]
        if name:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(body, encoding="utf-8")
        elif kind == "python":
            exec(compile(body, f"{page.name}", "exec"), namespace)  # noqa: S102 -- our own documentation
        elif kind == "console":
            run_console(body)


def run_console(body: str) -> None:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command,
            shell=True,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": path},
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if expected.strip():
            matches = doctest.OutputChecker().check_output(expected, done.stdout, FLAGS)
            assert matches, f"{command}\nexpected:\n{expected}\nfound:\n{done.stdout}"


def test_a_wrong_output_on_a_page_would_be_found() -> None:
    with pytest.raises(AssertionError):
        run_console("$ echo right\nwrong\n")


def test_every_command_has_a_page() -> None:
    from typer.main import get_command

    from rankwell.cli import app

    commands = set(get_command(app).commands)  # type: ignore[attr-defined]
    pages = {page.stem for page in (ROOT / "docs" / "commands").glob("*.md")}
    assert commands == pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_on_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]
