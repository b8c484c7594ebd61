"""Tab in bash, zsh and fish: the real shells load what we print, ask, and are offered commands, models and measures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from needs import require
from rankwell.cli import options

SHOWN = 'eval "$(rankwell --show-completion)"\n'
LOAD = {
    "bash": SHOWN,
    # The function asks `_arguments` to offer; what that is told to offer is what we look at.
    "zsh": 'compdef() { }\n_arguments() { print -r -- "$@" }\n' + SHOWN,
    "fish": "rankwell --show-completion | source\n",
}
ASK = {
    "bash": """COMP_WORDS=({line}) COMP_CWORD={last}
_rankwell_completion rankwell
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "zsh": "words=({line}) CURRENT={last}+1\n_rankwell_completion\n",
    "fish": 'complete -C "{line}"\n',
}
EVERY_SHELL = pytest.mark.parametrize("shell", ASK)


def said(shell: str, script: str, **extra: str) -> str:
    require(shell, there=shutil.which(shell) is not None, how=f"install {shell}")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    plain = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    command = [shell, *plain, "-c", f"{script}\ntrue"]
    environment = {**os.environ, "PATH": path, **extra}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def offered(shell: str, *lines: str) -> list[str]:
    """What the shell is offered for each of the lines, asked in one session."""
    asked = [ASK[shell].format(line=line, last=len(line.split()) - 1) for line in lines]
    return said(shell, LOAD[shell] + "\necho '====='\n".join(asked)).split("=====\n")


@pytest.mark.slow
@EVERY_SHELL
@pytest.mark.usefixtures("use_models")
def test_commands_options_measures_and_models_are_offered(shell: str) -> None:
    commands, options, measures, rerankers, encoders = offered(
        shell,
        "rankwell co",
        "rankwell search index --hy",
        "rankwell compare qrels a b -m nDC",
        "rankwell search index words --rerank m",
        "rankwell encode index --model m",
    )
    assert all(word in commands for word in ("compare", "convert"))
    assert "search" not in commands
    assert "--hybrid" in options
    assert "nDCG@10" in measures
    assert "RR@10" not in measures
    assert "ms-marco-minilm-l12" in rerankers
    assert "minilm-l6" in encoders
    assert "ms-marco-minilm-l12" not in encoders


@EVERY_SHELL
def test_installing_writes_what_the_shell_reads_at_its_start(shell: str, tmp_path: Path) -> None:
    told = said(shell, "rankwell --install-completion", HOME=str(tmp_path))
    assert f"{shell} completion installed" in told
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any("_RANKWELL_COMPLETE" in file.read_text() for file in written)


def test_models_to_fetch_are_those_that_are_not_here(use_models: None) -> None:  # noqa: ARG001 -- a home with models
    here = {name for name, _ in options.fetched("")}
    assert "minilm-l6" in here
    assert not here & {name for name, _ in options.to_fetch("")}


def test_a_damaged_home_offers_nothing_and_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path))
    (tmp_path / "models" / "broken").mkdir(parents=True)
    (tmp_path / "models" / "broken" / "rankwell.json").write_text("{")
    assert options.fetched("") == []
    assert "minilm-l6" in dict(options.to_fetch("mini"))


def test_every_offered_measure_can_be_used() -> None:
    from rankwell.evaluation import parse_measure

    for name, what in options.measures(""):
        assert what
        assert parse_measure(name).name == name.split("@")[0]
