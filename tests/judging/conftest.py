"""Studies on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_studies import Clock

from databases import address, make_tables_once, postgres

__all__ = ["address", "make_tables_once", "postgres"]


@pytest.fixture
def sqlite_address(tmp_path: Path) -> str:
    """Where a new database is to be, in a file."""
    return str(tmp_path / "study.db")


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still until a test moves it."""
    return Clock()


@pytest.fixture
def closing() -> Iterator[Callable]:
    """Closes stores when the test is over."""
    opened = []

    def keep(store):
        opened.append(store)
        return store

    yield keep
    for store in opened:
        store.close()
