"""Files that hold secrets: readable by their owner alone, or refused."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from rankwell.core import RankwellError

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_private(path: Path) -> bytes:
    """The content of a file that nobody else can read."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and mode & OTHERS:
                raise RankwellError(
                    f"{path}: expected a file that only its owner can read, found mode {stat.S_IMODE(mode):04o}: "
                    f"chmod 600 {path}"
                )
            return file.read()
    except OSError as error:
        raise RankwellError(f"{path}: cannot read this secret: {error.strerror}") from error


def create_private(path: Path, content: bytes) -> bytes:
    """Write a file that nobody else can read, unless it is already there; the content that then stands in it.

    The file appears whole or not at all: of two programs that start at once, both read what the first one wrote.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return read_private(path)
        return content
    finally:
        temporary.unlink(missing_ok=True)
