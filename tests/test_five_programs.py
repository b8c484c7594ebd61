"""The five programs of docs/python.md: at most eight lines each; those that need no model run here, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "python.md").read_text(encoding="utf-8")
FILES = re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_there_are_five_programs_of_at_most_eight_lines() -> None:
    assert len(PROGRAMS) == 5
    for program in PROGRAMS:
        assert len([line for line in program.splitlines() if line.strip()]) <= 8
        assert "from rankwell import" in program
        assert "rankwell." not in program.replace("rankwell.org", "")


def test_the_programs_without_models_run_on_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content)
    own, beir, custom, _, tuned = PROGRAMS
    exec(own, {})  # noqa: S102 -- our own documentation
    assert "p1" in capsys.readouterr().out
    exec(custom, {})  # noqa: S102
    assert re.findall(r"p\d", capsys.readouterr().out) == ["p3", "p1"]
    without_model = re.sub(r" >> CrossEncoder\(.*?\)", ".top(2)", beir)
    names: dict[str, object] = {}
    exec(without_model, names)  # noqa: S102
    exec(tuned, names)  # noqa: S102
    assert "to expect on new queries (2-fold cross-validation)" in capsys.readouterr().out
