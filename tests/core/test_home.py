"""Where caches and models are kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rankwell.core import home


def test_the_variable_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "mine"))
    assert home() == tmp_path / "mine"


def test_an_environment_may_have_a_home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKWELL_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    assert home() == tmp_path / "cache" / "rankwell"
    (tmp_path / "venv" / "rankwell").mkdir(parents=True)
    assert home() == tmp_path / "venv" / "rankwell"


def test_a_python_for_all_users_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKWELL_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "rankwell").mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    assert home() == tmp_path / "cache" / "rankwell"
