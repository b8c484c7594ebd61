"""Files that writers write: whole or not there, and gzipped where their name says so."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from rankwell.core.errors import RankwellError, shown
from rankwell.core.files import atomic_write


@contextlib.contextmanager
def output(path: Path) -> Iterator[BinaryIO]:
    """A new file for text in UTF-8; a name that ends in .gz packs it (the same bytes give the same file)."""
    with atomic_write(path) as file:
        try:
            if path.suffix == ".gz":
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield cast("BinaryIO", packed)
            else:
                yield file
        except UnicodeEncodeError as error:
            found = shown(error.object[error.start : error.end])
            raise RankwellError(f"{path}: not written: {found} is half a character, which UTF-8 cannot hold") from error
