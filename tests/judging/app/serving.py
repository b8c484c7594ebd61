"""`rankwell assess serve`, really started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inbox import Letters
from servers import Server, started, stopped


def start_server(database: Path | str, said: Path, *options: str, port: int | None = None, **extra: str) -> Server:
    return started(["assess", "serve", str(database), *options], said, port, **extra)


@contextmanager
def running(database: Path | str, said: Path, *options: str, **extra: str) -> Iterator[Server]:
    with stopped(start_server(database, said, *options, **extra)) as server:
        yield server


def mail_environment(letters: Letters) -> dict[str, str]:
    """What tells a server to mail to a server of ours."""
    return {
        "RANKWELL_SMTP_HOST": "127.0.0.1",
        "RANKWELL_SMTP_PORT": str(letters.port),
        "RANKWELL_SMTP_FROM": "study@example.org",
        "RANKWELL_SMTP_SECURITY": "none",
    }
