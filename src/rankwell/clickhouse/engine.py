"""What we ask of an engine, whether it is a cluster or lives in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from rankwell.clickhouse.address import EMBEDDED, Address
from rankwell.clickhouse.literals import Sql
from rankwell.clickhouse.native import Column, Columns

Settings = Mapping[str, Any]

# Long lists of numbers and terms stand in our statements.
LARGE: Settings = {"max_query_size": 1 << 28, "max_ast_elements": 10_000_000, "max_expanded_ast_elements": 10_000_000}
# Every shard answers for its own documents, and nobody merges the answers but us.
APART: Settings = {"distributed_group_by_no_merge": 1}


class Engine(Protocol):
    """Runs statements. One that reads is sent again where a server fails; one that writes is not."""

    address: Address

    @property
    def version(self) -> tuple[int, ...]:
        """The engine's version."""

    def ask(self, statement: Sql, settings: Settings | None = None) -> Columns:
        """The answer of any server that is up; empty where there are no rows."""

    def ask_each(self, statement: Sql) -> list[Columns]:
        """The answers of all servers, which must all be up."""

    def insert(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Rows for a table of all servers; they are there when this returns."""

    def insert_each(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """The same rows for every server's own table."""

    def copy_each(self, statement: Sql, table: Sql) -> None:
        """What a statement finds, as rows of every server's own table."""

    def run_first(self, statement: Sql) -> None:
        """A statement that changes a table, on the first server."""

    def ask_first(self, statement: Sql) -> Columns:
        """The answer of the first server."""

    def run_each(self, statement: Sql) -> None:
        """A statement that changes tables, on every server."""


def open_engine(address: Address) -> Engine:
    """The engine at an address; raises where nobody answers."""
    if address.scheme == EMBEDDED:
        from rankwell.clickhouse.embedded import EmbeddedEngine

        return EmbeddedEngine(address)
    from rankwell.clickhouse.http import HttpEngine

    return HttpEngine(address)
