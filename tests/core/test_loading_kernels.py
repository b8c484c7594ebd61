"""Compiled loops are loaded once, whoever asks first."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

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
