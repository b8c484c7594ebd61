"""A real PostgreSQL server for tests, started in a folder of its own and stopped again."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from needs import require

PROGRAMS = ("initdb", "pg_ctl", "postgres")
PATIENCE = 60  # seconds


class Postgres(NamedTuple):
    """A running server, which listens on a socket in its folder and nowhere else."""

    folder: Path

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://rankwell@/{database}?host={self.folder}"

    def new_database(self, name: str) -> str:
        """The address of an empty database."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.address(name)


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Start a server; it refuses to run as root, so that root starts it as another user."""
    found = [shutil.which(program) for program in PROGRAMS]
    require("postgres", there=all(found), how="install PostgreSQL and put initdb, pg_ctl and postgres on the PATH")
    initdb, pg_ctl = (str(program) for program in found[:2])
    folder = Path(tempfile.mkdtemp(prefix="rankwell-pg-"))
    user = _other_user(folder) if os.getuid() == 0 else {}
    data, log = folder / "data", folder / "log"
    try:
        _run(initdb, "-D", data, "-U", "rankwell", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", **user)
        settings = f"-c listen_addresses= -c unix_socket_directories={folder} -c max_connections=200"
        _run(pg_ctl, "-D", data, "-l", log, "-w", "-t", str(PATIENCE), "-o", settings, "start", **user)
        try:
            yield Postgres(folder)
        finally:
            _run(pg_ctl, "-D", data, "-w", "-m", "immediate", "stop", **user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _other_user(folder: Path) -> dict[str, Any]:
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _run(*command: str | Path, **user: Any) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=2 * PATIENCE,
        check=False,
        cwd="/",
        **user,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")
