"""Fixtures for tests on both databases: a conftest imports what it needs."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect

from postgres import Postgres, running_postgres
from rankwell.store import Schema, database
from rankwell.store.migrations import bring_up_to_date

SQLITE = "sqlite"
POSTGRES = pytest.param("postgres", marks=pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def make_tables_once() -> Iterator[None]:
    """A new SQLite file gets the tables that Alembic made in the first one: Alembic takes a tenth of a second."""
    statements: dict[str, list[str]] = {}

    def make_tables(connection: Connection, schema: Schema, name: str) -> None:
        if connection.dialect.name != SQLITE or inspect(connection).get_table_names():
            bring_up_to_date(connection, schema, name)
        elif schema.branch in statements:
            for statement in statements[schema.branch]:
                connection.exec_driver_sql(statement)
        else:
            bring_up_to_date(connection, schema, name)
            made = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").scalars()
            [version] = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars()
            insert = f"INSERT INTO alembic_version VALUES ('{version}')"  # noqa: S608 -- our own
            statements[schema.branch] = [*made, insert]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "bring_up_to_date", make_tables)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server."""
    with running_postgres() as server:
        yield server


@pytest.fixture(params=[SQLITE, POSTGRES])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new database is to be: in a file, and on PostgreSQL."""
    return new_address(request, tmp_path)


def new_address(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == SQLITE:
        return str(folder / "study.db")
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database(f"study_{secrets.token_hex(4)}")
