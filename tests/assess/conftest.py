"""Studies on both databases."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_studies import Clock

from postgres import Postgres, running_postgres

SQLITE = "sqlite"
POSTGRES = pytest.param("postgres", marks=pytest.mark.slow)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server."""
    with running_postgres() as server:
        yield server


@pytest.fixture(params=[SQLITE, POSTGRES])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new database is to be: in a file, and on PostgreSQL."""
    return new_address(request, tmp_path)


@pytest.fixture
def sqlite_address(tmp_path: Path) -> str:
    """Where a new database is to be, in a file."""
    return str(tmp_path / "study.db")


def new_address(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == SQLITE:
        return str(folder / "study.db")
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database(f"study_{secrets.token_hex(4)}")


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
