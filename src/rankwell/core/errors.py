"""Errors that say what was expected, what was found and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LONGEST_FINDING = 120


class RankwellError(Exception):
    """An error that the user can fix; commands print its message in one line without a traceback.

    >>> try:
    ...     Index.open("nothing")
    ... except RankwellError as error:
    ...     print(error)
    """


class ParameterError(RankwellError, ValueError):
    """A parameter has an invalid value."""

    def __init__(self, name: str, *, expected: str, found: Any) -> None:
        self.name, self.expected, self.found = name, expected, found
        super().__init__(f"{name}: expected {expected}, found {shown(found)}")


class FormatError(RankwellError, ValueError):
    """A file does not follow its format."""

    def __init__(self, path: Path | str, line: int | None, *, expected: str, found: Any) -> None:
        self.path, self.line, self.expected, self.found = str(path), line, expected, found
        place = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{place}: expected {expected}, found {shown(found)}")


class MissingExtraError(RankwellError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(f"{what} needs an optional part of Rankwell: pip install 'rankwell[{extra}]'")


class NotSavedError(RankwellError):
    """A change could not be written: a full disk, or a place that cannot be written."""

    status = 507


class Phrase(str):
    """A finding in our own words, shown in errors without quotes."""

    __slots__ = ()


def shown(value: Any) -> str:
    """The value in an error message: strings in double quotes, control characters escaped, long ones cut."""
    if isinstance(value, Phrase):
        return str(value)
    if isinstance(value, bytes):
        value = value[: LONGEST_FINDING + 1].decode("utf-8", errors="replace")
    text = value if isinstance(value, str) else repr(value)
    cut = text if len(text) <= LONGEST_FINDING else text[:LONGEST_FINDING] + "…"
    if not isinstance(value, str):
        return cut
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)
    return f'"{escaped}"'
