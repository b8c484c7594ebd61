"""A folder that all workers share with the one who asks, and how they find out whether they do."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankwell.core import RankwellError, atomic_write


@contextmanager
def signed(folder: Path) -> Iterator[str]:
    """The name of a file in a folder, by which others know that it is the same folder."""
    sign = f".shared-{secrets.token_hex(8)}"
    with atomic_write(folder / sign) as file:
        file.write(b"workers look for this file\n")
    try:
        yield sign
    finally:
        (folder / sign).unlink(missing_ok=True)


def check_shared(folder: Path, sign: str) -> None:
    """Refuse another folder of the same name."""
    if not (folder / sign).is_file():
        raise RankwellError(
            f"{folder}: expected a folder that this machine shares with the one where the command was given, "
            "found one of its own, or none"
        )
