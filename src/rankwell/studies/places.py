"""Where a key of a TOML file stands: its line and column, for errors that point at it.

`tomllib` reads the file and says where its grammar is broken, but not where a value came from. This goes through the
lines once more and notes the places of keys; what it does not find has the place of what holds it.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence

Path = tuple[str | int, ...]

QUOTED = r'"(?:[^"\\]|\\.)*"|\'[^\']*\''
NAME = rf"(?:{QUOTED}|[\w-]+)"
HEADER = re.compile(rf"^\s*(?P<open>\[\[?)\s*(?P<name>{NAME}(?:\s*\.\s*{NAME})*)\s*\]")
KEY = re.compile(rf"^\s*(?P<name>{NAME}(?:\s*\.\s*{NAME})*)\s*=\s*")
PART = re.compile(NAME)
STRING = re.compile(QUOTED)
TRIPLE = re.compile(r'"""|\'\'\'')
BRACKETS = {"[": 1, "{": 1, "]": -1, "}": -1}


class Places:
    """The places of all keys of a text."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._found: dict[Path, tuple[int, int]] = {}
        self._read()

    def of(self, path: Sequence[str | int]) -> tuple[int, int] | None:
        """Line and column, from 1, of the value at a path; of what holds it where it is not known itself."""
        path = tuple(path)
        for length in range(len(path), 0, -1):
            place = self._found.get(path[:length])
            if place is not None:
                return self._within(place, path[length]) if length < len(path) else place
        return None

    def text_at(self, path: Sequence[str | int]) -> tuple[int, int] | None:
        """Where the characters of a text begin: behind its quote. None where it is not known exactly."""
        place = self._found.get(tuple(path))
        if place is None:
            return None
        line, column = place
        rest = self._lines[line - 1][column - 1 :]
        if TRIPLE.match(rest):  # a text of several lines, whose first line end does not count
            return (line, column + 3) if rest[3:] else (line + 1, 1)
        return (line, column + 1) if rest[:1] in ('"', "'") else None

    def _within(self, place: tuple[int, int], part: str | int) -> tuple[int, int]:
        """An element of a list of texts, or a key of an inline table, looked for behind its beginning."""
        line, column = place
        if isinstance(part, str):
            pattern = re.compile(rf"(?<![\w-])[\"']?{re.escape(part)}[\"']?\s*=\s*")
            found = pattern.search(self._lines[line - 1], column - 1)
            return (line, found.end() + 1) if found else place
        strings = (
            (number, match.start() + 1)
            for number, text in enumerate(self._lines[line - 1 :], line)
            for match in STRING.finditer(text, column - 1 if number == line else 0)
        )
        return next((at for count, at in enumerate(strings) if count == part), place)

    def _read(self) -> None:
        within: Path = ()
        tables: Counter[Path] = Counter()
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
                within = self._entered(_parts(header["name"]), tables, repeated=header["open"] == "[[")
                self._found.setdefault(within, (number, header.start("name") + 1))
            elif key is not None:
                self._found.setdefault((*within, *_parts(key["name"])), (number, key.end() + 1))
                rest = line[key.end() :]
                triple = TRIPLE.match(rest)
                if triple and rest.count(triple[0]) < 2:  # noqa: PLR2004 -- it does not end on its line
                    skipping = triple[0]
                elif not triple:
                    depth = _opened(rest)

    def _entered(self, names: Path, tables: Counter[Path], *, repeated: bool) -> Path:
        """The path of a header, with the numbers of repeated tables in it."""
        path: Path = ()
        for place, name in enumerate(names):
            path = (*path, name)
            if repeated and place == len(names) - 1:
                tables[path] += 1
            if tables[path]:
                path = (*path, tables[path] - 1)
        return path


def _opened(text: str) -> int:
    """How many brackets a line leaves open."""
    bare = STRING.sub("", text).partition("#")[0]
    return sum(BRACKETS.get(char, 0) for char in bare)


def _parts(name: str) -> tuple[str, ...]:
    """`a."b c".d` as its parts."""
    return tuple(_unquoted(part) for part in PART.findall(name))


def _unquoted(part: str) -> str:
    if part[0] == "'":
        return part[1:-1]
    if part[0] == '"':
        return str(tomllib.loads(f"x = {part}")["x"])
    return part
