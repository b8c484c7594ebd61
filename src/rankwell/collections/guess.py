"""Which format a file has: named by the user, or told by its content."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from rankwell.collections.lines import head
from rankwell.core.errors import ParameterError, RankwellError, shown


class Format(Protocol):
    """What every format has: a name, the endings that its files usually have, and an eye for its own."""

    @property
    def name(self) -> str:
        """How users call it."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The endings that make it the choice for a new file."""

    def recognises(self, path: Path, start: str) -> bool:
        """Whether a file (with this start) or a folder is of this format."""


F = TypeVar("F", bound=Format)


def named(name: str, formats: Sequence[F], what: str) -> F:
    """The format of that name."""
    for known in formats:
        if known.name == name:
            return known
    names = sorted({known.name for known in formats})
    near = difflib.get_close_matches(name, names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise ParameterError(f"format of {what}", expected=f"one of {', '.join(names)}{hint}", found=name)


def recognised(path: Path, formats: Sequence[F]) -> F | None:
    """The first format that knows the file as its own; an empty file is told by its ending."""
    if not path.exists():
        raise RankwellError(f"{path}: no such file or folder")
    start = head(path) if path.is_file() else ""
    if path.is_file() and not start.strip():
        return by_suffix(path, formats)
    return next((known for known in formats if known.recognises(path, start)), None)


def guessed(path: Path, formats: Sequence[F], what: str) -> F:
    """The format of a file that is there; an error that says what was tried where none fits."""
    known = recognised(path, formats)
    if known is None:
        tried = ", ".join(sorted({known.name for known in formats}))
        found = _nothing(path) or _first_line(path)
        hint = "; name it with --format (--from in convert)" if what == "documents" else ""
        raise RankwellError(f"{path}: cannot tell the format of these {what}: tried {tried}, found {found}{hint}")
    return known


def _nothing(path: Path) -> str | None:
    if path.is_dir():
        return None if any(path.iterdir()) else "an empty folder"
    return None if head(path).strip() else "an empty file"


def _first_line(path: Path) -> str:
    """What a reader would look at to see why: the first line, which tells most formats."""
    if path.is_dir():
        return "a folder without any of their files"
    number, line = next((number, line) for number, line in enumerate(head(path).splitlines(), 1) if line.strip())
    return f"{shown(line)} in line {number}"


def for_writing(path: Path, name: str | None, formats: Sequence[F], what: str) -> F:
    """The format for a new file: the named one, or the one that files of this ending have."""
    if name is not None:
        return named(name, formats, what)
    known = by_suffix(path, formats)
    if known is None:
        endings = ", ".join(f"{suffix} ({known.name})" for known in formats for suffix in known.suffixes[:1])
        raise RankwellError(
            f"{path}: cannot tell from this name how to write {what}: use one of {endings}, or name the format"
        )
    return known


def by_suffix(path: Path, formats: Sequence[F]) -> F | None:
    """The first format whose files end like this one, gzipped or not."""
    name = path.name.removesuffix(".gz")
    return next((known for known in formats if any(name.endswith(suffix) for suffix in known.suffixes)), None)
