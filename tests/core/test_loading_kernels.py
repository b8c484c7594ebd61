"""Compiled loops are loaded once, whoever asks first."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rankwell.core import kernels as core_kernels
from rankwell.core.kernels import Kernels

SLOW = """
import time
time.sleep(0.3)
ANSWER = 42
"""


def test_a_thread_waits_while_another_one_loads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_kernels_of_a_test.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "home"))
    kernels = Kernels("slow_kernels_of_a_test")
    try:
        with ThreadPoolExecutor(1) as other:
            first = other.submit(kernels)
            while not kernels.loaded:  # begun, and far from finished
                time.sleep(0.001)
            assert kernels().ANSWER == 42
            assert first.result() is kernels()
    finally:
        sys.modules.pop("slow_kernels_of_a_test", None)


def test_while_one_thread_makes_them_ready_the_others_do_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path))
    kernels = Kernels("rankwell.core.kernels")  # any module that is in memory
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: kernels.loaded).result()
        with kernels.reserve():
            assert kernels.loaded
            assert not other.submit(lambda: kernels.loaded).result()
            assert other.submit(lambda: kernels.reserved).result()
        assert other.submit(lambda: kernels.loaded).result()


def test_processors_that_share_a_home_keep_their_code_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = set()
    for target in (("linux", "haswell", "+avx2"), ("linux", "haswell", "-avx2"), ("linux", "znver4", "+avx2")):
        monkeypatch.setattr(core_kernels, "target", lambda target=target: target)
        folders.add(Kernels("rankwell.core.kernels").cache_folder())
    assert len(folders) == 3


def test_kernels_are_complete_only_where_this_process_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quick_kernels_of_a_test.py").write_text("ANSWER = 42")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "home"))
    kernels = Kernels("quick_kernels_of_a_test")
    try:
        assert not kernels.complete
        kernels()
        kernels.mark_complete()
        assert kernels.complete
        monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "another"))
        kernels.mark_complete()
        assert not kernels.complete
        monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "home"))
        (tmp_path / "quick_kernels_of_a_test.py").write_text("ANSWER = 43")
        assert not kernels.complete
    finally:
        sys.modules.pop("quick_kernels_of_a_test", None)
