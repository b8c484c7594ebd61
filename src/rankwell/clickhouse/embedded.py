"""The embedded engine: chDB, which is ClickHouse as a library, with its tables in a folder."""

from __future__ import annotations

import gc
import tempfile
import weakref
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

from rankwell.clickhouse.address import Address
from rankwell.clickhouse.engine import LARGE, Settings, engine_error
from rankwell.clickhouse.values import Column, Columns, Sql, block, read_blocks, settings_text, sql
from rankwell.core import MissingExtraError, RankwellError

_lock = RLock()  # a finaliser may run inside
_open: dict[str, list[Any]] = {}  # the session of a folder and its users; the library allows one folder per process


class EmbeddedEngine:
    """The embedded engine as a cluster of one server."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._session = _session(address, self)

    @cached_property
    def version(self) -> tuple[int, ...]:
        """The engine's version."""
        return version_of(self.ask(sql("SELECT version() AS version")))

    def ask(self, statement: Sql, settings: Settings | None = None) -> Columns:
        """Run a statement, and read the answer."""
        with_settings = f"{statement}{settings_text({**LARGE, **(settings or {})})}"
        return read_blocks(self._run(with_settings))

    def ask_each(self, statement: Sql) -> list[Columns]:
        """The answer of the only server."""
        return [self.ask(statement)]

    def insert(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Insert rows through a file: the library has no other way to take binary rows from Python."""
        with tempfile.NamedTemporaryFile(suffix=".native") as file:
            file.write(block(columns))
            file.flush()
            names = ", ".join(f"`{name}`" for name in columns)
            self._run(
                str(
                    sql(
                        "INSERT INTO {table} ({names}) FROM INFILE {file} FORMAT Native",
                        table=table,
                        names=Sql(names),
                        file=file.name,
                    )
                )
            )

    def insert_each(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Insert into the only server."""
        self.insert(table, columns)

    def copy_each(self, statement: Sql, table: Sql) -> None:
        """Copy within the only server."""
        self._run(str(sql("INSERT INTO {table} {statement}", table=table, statement=statement)))

    def run_first(self, statement: Sql) -> None:
        """Run on the only server."""
        self._run(str(statement))

    def ask_first(self, statement: Sql) -> Columns:
        """The answer of the only server."""
        return self.ask(statement)

    def run_each(self, statement: Sql) -> None:
        """Run on the only server."""
        self._run(str(statement))

    def _run(self, statement: str) -> bytes:
        try:
            answer = self._session.query(statement, "Native")
        except Exception as error:  # noqa: BLE001 -- the library's own class, which it does not export
            raise engine_error(str(self.address), str(error)) from None
        return bytes(answer.bytes() or b"") if answer is not None else b""


def version_of(answer: Columns) -> tuple[int, ...]:
    """A version as numbers: `26.9.2.1` is (26, 9, 2, 1)."""
    return tuple(int(part) for part in answer["version"][0].split(".") if part.isdigit())


def _session(address: Address, user: object) -> Any:
    """The session of a folder, which stays open as long as it has a user."""
    try:
        from chdb import session
    except ImportError:
        raise MissingExtraError("an index in chDB", extra="clickhouse") from None
    folder = str(Path(address.folder).resolve())
    if set(_open) - {folder}:
        gc.collect()  # garbage collection of an unused index may close it
    with _lock:
        if folder not in _open:
            if _open:
                there = ", ".join(_open)
                raise RankwellError(f"{address}: the embedded engine has one folder a process, and uses {there}")
            try:
                Path(folder).mkdir(parents=True, exist_ok=True)
                _open[folder] = [session.Session(folder), 0]  # type: ignore[no-untyped-call]
            except OSError as error:
                raise RankwellError(f"{folder}: cannot be written: {error.strerror}") from error
            except RuntimeError as error:
                raise engine_error(str(address), str(error)) from None
        _open[folder][1] += 1
        weakref.finalize(user, _release, folder)
        return _open[folder][0]


def _release(folder: str) -> None:
    """Remove a user; the last one closes the session."""
    with _lock:
        _open[folder][1] -= 1
        if not _open[folder][1]:
            _open.pop(folder)[0].close()
