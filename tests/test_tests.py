"""Test files can be told apart by their names alone: pytest imports them without their folders."""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def test_no_two_files_of_tests_have_the_same_name() -> None:
    names = Counter(file.name for file in Path(__file__).parent.rglob("*.py") if file.name != "conftest.py")
    assert not [name for name, count in names.items() if count > 1]
