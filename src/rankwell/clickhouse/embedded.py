"""The embedded engine: chDB, which is ClickHouse as a library, with its tables in a folder."""

from __future__ import annotations

import gc
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from threading import RLock
from typing import Any

from rankwell.clickhouse.address import Address, Host
from rankwell.clickhouse.engine import LARGE, Engine, engine_error
from rankwell.clickhouse.values import Answer, Column, Settings, Sql, block, inserting, read_blocks, settings_text, sql
from rankwell.core import MissingExtraError, RankwellError

_lock = RLock()  # a finaliser may run inside
_open: dict[str, list[Any]] = {}  # the session of a folder and its users; the library allows one folder per process


class EmbeddedEngine(Engine):
    """The embedded engine as a cluster of one server."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._session = _session(address, self)

    def ask(self, statement: str | Sql, settings: Settings | None = None, /, **values: Any) -> Answer:
        """Run a statement, and read the answer."""
        return read_blocks(
            self._query(f"{self.sql(statement, **values)}{settings_text({**LARGE, **(settings or {})})}")
        )

    def insert(self, table: Sql, columns: Mapping[str, Column]) -> None:
        """Insert rows through a file: the library has no other way to take binary rows from Python."""
        with tempfile.NamedTemporaryFile(suffix=".native") as file:
            file.write(block(columns))
            file.flush()
            beginning = inserting(table, columns)
            self._query(sql("{beginning} FROM INFILE {file} FORMAT Native", beginning=beginning, file=file.name))

    def copy_each(self, statement: Sql, table: Sql) -> None:
        """Copy within the only server."""
        self._query(sql("INSERT INTO {table} {statement}", table=table, statement=statement))

    def _read(self, host: Host, statement: Sql) -> bytes:  # noqa: ARG002 -- there is one
        return self._query(f"{statement}{settings_text(LARGE)}")

    def _run(self, host: Host, statement: Sql, patience: float = 1.0) -> None:  # noqa: ARG002 -- there is one
        self._query(statement)

    def _insert(self, host: Host, table: Sql, columns: Mapping[str, Column]) -> None:  # noqa: ARG002 -- there is one
        self.insert(table, columns)

    def _query(self, statement: str | Sql) -> bytes:
        try:
            answer = self._session.query(str(statement), "Native")
        except Exception as error:  # noqa: BLE001 -- the library's own class, which it does not export
            raise engine_error(str(self.address), str(error)) from None
        return bytes(answer.bytes() or b"") if answer is not None else b""


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
