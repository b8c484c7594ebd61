"""What is wrong in a study file: where, what was expected, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from rankwell.core import RankwellError
from rankwell.core.errors import shown

CLOSE = 0.6  # how alike two names must be for one to be suggested for the other
MOST_LISTED = 12


class LineError(RankwellError):
    """A mistake in a pipeline line; `place` counts its characters from 0."""

    def __init__(self, message: str, place: int) -> None:
        self.message, self.place = message, place
        super().__init__(f"column {place + 1}: {message}")


class StudyError(RankwellError):
    """A mistake in a study file, with its line and column where they are known."""

    def __init__(self, path: Path | str, message: str, line: int | None = None, column: int | None = None) -> None:
        self.path, self.message, self.line, self.column = str(path), message, line, column
        place = "".join(f":{number}" for number in (line, column) if number is not None)
        super().__init__(f"{path}{place}: {message}")


def unknown(what: str, found: str, known: Iterable[str]) -> str:
    """What was expected and what was found, with the closest name: `..., found "bm52": did you mean bm25?`."""
    names = list(known)
    listed = ", ".join(names[:MOST_LISTED]) + (", ..." if len(names) > MOST_LISTED else "")
    return f"expected {what} ({listed or 'there are none'}), found {shown(found)}{meant(found, names)}"


def meant(found: str, known: Iterable[str]) -> str:
    """`: did you mean bm25?`, or nothing where no name is close."""
    by_folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(found.casefold(), list(by_folded), n=1, cutoff=CLOSE)
    return f": did you mean {by_folded[close[0]]}?" if close else ""
