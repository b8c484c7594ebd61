"""The interface of an engine, cluster or embedded, and its errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from rankwell.clickhouse.address import EMBEDDED, Address
from rankwell.clickhouse.values import Column, Columns, Sql
from rankwell.core import RankwellError

Settings = Mapping[str, Any]

# Our statements contain long lists of numbers and terms.
LARGE: Settings = {"max_query_size": 1 << 28, "max_ast_elements": 10_000_000, "max_expanded_ast_elements": 10_000_000}
# Each shard answers for its own documents; we merge the answers.
APART: Settings = {"distributed_group_by_no_merge": 1}


class Engine(Protocol):
    """Runs statements. Reads are repeated where a server fails; writes are not."""

    address: Address

    @property
    def version(self) -> tuple[int, ...]:
        """The engine's version."""

    def ask(self, statement: Sql, settings: Settings | None = None) -> Columns:
        """The answer of any available server; empty without rows."""

    def ask_each(self, statement: Sql) -> list[Columns]:
        """The answers of all servers, which must all be available."""

    def insert(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Insert rows into a table of all servers; they are stored when this returns."""

    def insert_each(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Insert the same rows into every server's own table."""

    def copy_each(self, statement: Sql, table: Sql) -> None:
        """Insert the result of a statement into every server's own table."""

    def run_first(self, statement: Sql) -> None:
        """Run a statement that changes a table, on the first server."""

    def ask_first(self, statement: Sql) -> Columns:
        """The answer of the first server."""

    def run_each(self, statement: Sql) -> None:
        """Run a statement that changes tables, on every server."""


def open_engine(address: Address) -> Engine:
    """Open the engine at an address; raises where no server answers."""
    if address.scheme == EMBEDDED:
        from rankwell.clickhouse.embedded import EmbeddedEngine

        return EmbeddedEngine(address)
    from rankwell.clickhouse.http import HttpEngine

    return HttpEngine(address)


CODE = re.compile(r"Code:\s*(\d+)")
PLACE = re.compile(r"\((?:[^()\s]*?, )?([\w.:\[\]-]+:\d+)")
# Codes of a failed or broken connection to another server of the cluster: a retry may help.
BROKEN = frozenset((3, 32, 101, 203, 209, 210, 236, 279, 394, 1000))
NO_ACCESS = frozenset((192, 193, 194, 195, 492, 497, 516))
NO_TABLE = frozenset((60, 81))
BUSY = frozenset((202,))
LONGEST = 400


class EngineError(RankwellError):
    """The engine refused a statement; `code` is its error code."""

    def __init__(self, message: str, code: int = 0, places: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code, self.places = code, places

    @property
    def passing(self) -> bool:
        """Whether a retry may succeed, later or on another server."""
        return self.code in BROKEN | BUSY


class UnreachableError(RankwellError):
    """No server answered."""


class ShardDownError(RankwellError):
    """No server of a shard was reachable by the others."""


def engine_error(where: str, text: str) -> EngineError:
    """The engine's message as an error: its first line, without details for its developers."""
    found = CODE.search(text)
    code = int(found[1]) if found else 0
    places = tuple(dict.fromkeys(PLACE.findall(text)))
    message = re.sub(r"^Code: \d+[.,]\s*(e\.displayText\(\) = )?(DB::\w+: )*", "", text.strip())
    message = re.split(r", e\.what\(\) =|\. Stack trace|\(version ", message, maxsplit=1)[0]
    message = " ".join(message.split())[:LONGEST]
    if code in NO_ACCESS:
        return EngineError(f"{where}: expected a user and password that the server knows: {message}", code)
    return EngineError(f"{where}: the engine says: {message}", code, places)
