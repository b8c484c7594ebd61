"""Files that visitors upload: their names for people, and where they lie while they are read."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from rankwell.core.errors import NotSavedError

LARGEST_UPLOAD = 64 * 1024 * 1024
LONGEST_NAME = 120
ENDING = re.compile(r"(?:\.[A-Za-z0-9]{1,8}){0,2}$")


def shown_name(given: str | None) -> str:
    """A file's name without folders and unprintable characters; empty where no file was chosen."""
    name = PureWindowsPath(PurePosixPath(given or "").name).name
    return "".join(character for character in name if character.isprintable())[-LONGEST_NAME:]


def save_upload(folder: Path, name: str, content: BinaryIO) -> Path:
    """Write an upload into a folder; of its name only the ending is used, to detect the format."""
    ending = ENDING.search(name)
    path = folder / f"upload{ending[0] if ending else ''}"
    try:
        path.write_bytes(content.read())
    except OSError as error:
        raise NotSavedError(f"{name}: not kept: {error.strerror}") from error
    return path
