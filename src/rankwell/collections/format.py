"""What a file format is: its name, and how its files are recognised, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.reading import Reading
from rankwell.core import Document, Judgment, Judgments, Query, RankwellError, Run

Read = TypeVar("Read")
Write = TypeVar("Write")


@dataclass(frozen=True)
class Format(Generic[Read, Write]):
    """A file format: the name that users give for it, and the functions for its files.

    `recognises` is asked with a path and the start of the file, which is empty for a folder. `suffixes` are the endings
    that select the format for a new file.
    """

    name: str
    recognises: Callable[[Path, str], bool]
    read: Read
    write: Write
    suffixes: tuple[str, ...] = ()


DocumentFormat = Format[
    Callable[[Path, Reading, ColumnChoice], Iterator[Document]], Callable[[Path, Iterable[Document]], None]
]
QueryFormat = Format[Callable[[Path, Reading], Iterator[Query]], Callable[[Path, Iterable[Query]], None]]
QrelsFormat = Format[Callable[[Path, Reading], Iterator[Judgment]], Callable[[Path, Judgments], None]]
RunFormat = Format[Callable[[Path, Reading], Run], Callable[[Path, Run, int | None], None]]  # the last: threads


def cannot_be_written(name: str) -> Callable[[Path, Iterable[Document]], None]:
    """The writer of a format that is only read: it says so."""

    def write(path: Path, _: Iterable[Document]) -> None:
        raise RankwellError(f"{path}: {name} is read, not written: write JSON lines (.jsonl) or CSV instead")

    return write
