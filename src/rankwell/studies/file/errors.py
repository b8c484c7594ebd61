"""Mistakes in a study file, with the line and column where each is."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rankwell.core import RankwellError, shown

KeyPath = tuple[str | int, ...]

QUOTED = r'"(?:[^"\\]|\\.)*"|\'[^\']*\''
NAME = rf"(?:{QUOTED}|[\w-]+)"
HEADER = re.compile(rf"^\s*(?P<open>\[\[?)\s*(?P<name>{NAME}(?:\s*\.\s*{NAME})*)\s*\]")
KEY = re.compile(rf"^\s*(?P<name>{NAME}(?:\s*\.\s*{NAME})*)\s*=\s*")
PART = re.compile(NAME)
STRING = re.compile(QUOTED)
TRIPLE = re.compile(r'"""|\'\'\'')
BRACKETS = {"[": 1, "{": 1, "]": -1, "}": -1}


class KeyPositions:
    """The line and column of each key in a TOML text."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._keys: dict[KeyPath, tuple[int, int]] = {}
        self._read()

    def of(self, path: Sequence[str | int]) -> tuple[int, int] | None:
        """Line and column, from 1, of the value at a path, or of its parent where it is unknown."""
        path = tuple(path)
        for length in range(len(path), 0, -1):
            place = self._keys.get(path[:length])
            if place is not None:
                return self._within(place, path[length]) if length < len(path) else place
        return None

    def text_at(self, path: Sequence[str | int]) -> tuple[int, int] | None:
        """Line and column of a text's first character, after its quote. None where it is unknown."""
        if tuple(path) not in self._keys:
            return None
        line, column = self._keys[tuple(path)]
        rest = self._lines[line - 1][column - 1 :]
        if TRIPLE.match(rest):  # a text of several lines, whose first line break does not count
            return (line, column + 3) if rest[3:] else (line + 1, 1)
        return (line, column + 1) if rest[:1] in ('"', "'") else None

    def _within(self, place: tuple[int, int], part: str | int) -> tuple[int, int]:
        """The place of an element of a list of texts, or of a key of an inline table."""
        line, column = place
        if isinstance(part, str):
            pattern = re.compile(rf"(?<![\w-])[\"']?{re.escape(part)}[\"']?\s*=\s*")
            match = pattern.search(self._lines[line - 1], column - 1)
            return (line, match.end() + 1) if match else place
        strings = (
            (number, match.start() + 1)
            for number, text in enumerate(self._lines[line - 1 :], line)
            for match in STRING.finditer(text, column - 1 if number == line else 0)
        )
        return next((at for count, at in enumerate(strings) if count == part), place)

    def _read(self) -> None:
        within: KeyPath = ()
        tables: Counter[KeyPath] = Counter()
        skipping, depth = "", 0  # the quote of a text of several lines; brackets that are open
        for number, line in enumerate(self._lines, 1):
            if skipping:
                skipping = "" if skipping in line else skipping
                continue
            if depth > 0:
                depth += _opened(line)
                continue
            header, key = HEADER.match(line), KEY.match(line)
            if header is not None and not key:
                names, within = _parts(header["name"]), ()
                for place, name in enumerate(names, 1):  # the numbers of repeated tables are part of the path
                    within = (*within, name)
                    tables[within] += header["open"] == "[[" and place == len(names)
                    within = (*within, tables[within] - 1) if tables[within] else within
                self._keys.setdefault(within, (number, header.start("name") + 1))
            elif key is not None:
                self._keys.setdefault((*within, *_parts(key["name"])), (number, key.end() + 1))
                rest = line[key.end() :]
                triple = TRIPLE.match(rest)
                if triple and rest.count(triple[0]) < 2:  # noqa: PLR2004 -- it does not end on its line
                    skipping = triple[0]
                elif not triple:
                    depth = _opened(rest)


def _opened(text: str) -> int:
    """Number of brackets that a line leaves open."""
    return sum(BRACKETS.get(char, 0) for char in STRING.sub("", text).partition("#")[0])


def _parts(name: str) -> tuple[str, ...]:
    """`a."b c".d` as its parts."""
    parts = PART.findall(name)
    return tuple(str(tomllib.loads(f"x = {part}")["x"]) if part[0] in "'\"" else part for part in parts)


CLOSE = 0.6  # least similarity of a suggested name
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


class EntryError(RankwellError):
    """A mistake in the entry at `path`."""

    def __init__(self, message: str, path: KeyPath) -> None:
        self.message, self.path = message, path
        super().__init__(message)
