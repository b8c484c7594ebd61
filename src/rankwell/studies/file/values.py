"""Types of the values in a study file, their checks and JSON Schemas, and the places of keys in the file."""

from __future__ import annotations

import difflib
import re
import tomllib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from rankwell.core import RankwellError
from rankwell.core.errors import shown

KeyPath = tuple[str | int, ...]

QUOTED = r'"(?:[^"\\]|\\.)*"|\'[^\']*\''
NAME = rf"(?:{QUOTED}|[\w-]+)"
HEADER = re.compile(rf"^\s*(?P<open>\[\[?)\s*(?P<name>{NAME}(?:\s*\.\s*{NAME})*)\s*\]")
KEY = re.compile(rf"^\s*(?P<name>{NAME}(?:\s*\.\s*{NAME})*)\s*=\s*")
PART = re.compile(NAME)
STRING = re.compile(QUOTED)
TRIPLE = re.compile(r'"""|\'\'\'')
BRACKETS = {"[": 1, "{": 1, "]": -1, "}": -1}


class Places:
    """The line and column of each key in a TOML text."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._found: dict[KeyPath, tuple[int, int]] = {}
        self._read()

    def of(self, path: Sequence[str | int]) -> tuple[int, int] | None:
        """Line and column, from 1, of the value at a path, or of its parent where it is unknown."""
        path = tuple(path)
        for length in range(len(path), 0, -1):
            place = self._found.get(path[:length])
            if place is not None:
                return self._within(place, path[length]) if length < len(path) else place
        return None

    def text_at(self, path: Sequence[str | int]) -> tuple[int, int] | None:
        """Line and column of a text's first character, after its quote. None where it is unknown."""
        place = self._found.get(tuple(path))
        if place is None:
            return None
        line, column = place
        rest = self._lines[line - 1][column - 1 :]
        if TRIPLE.match(rest):  # a text of several lines, whose first line break does not count
            return (line, column + 3) if rest[3:] else (line + 1, 1)
        return (line, column + 1) if rest[:1] in ('"', "'") else None

    def _within(self, place: tuple[int, int], part: str | int) -> tuple[int, int]:
        """The place of an element of a list of texts, or of a key of an inline table."""
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

    def _entered(self, names: KeyPath, tables: Counter[KeyPath], *, repeated: bool) -> KeyPath:
        """The path of a header, with the numbers of repeated tables in it."""
        path: KeyPath = ()
        for place, name in enumerate(names):
            path = (*path, name)
            if repeated and place == len(names) - 1:
                tables[path] += 1
            if tables[path]:
                path = (*path, tables[path] - 1)
        return path


def _opened(text: str) -> int:
    """Number of brackets that a line leaves open."""
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


class ShapeError(RankwellError):
    """A value of the wrong shape at `path`."""

    def __init__(self, message: str, path: KeyPath) -> None:
        self.message, self.path = message, path
        super().__init__(message)


class Shape(ABC):
    """The type of a value, with its check and its JSON Schema."""

    @abstractmethod
    def checked(self, value: Any, path: KeyPath) -> Any:
        """The converted value; a `ShapeError` for another type."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this shape."""


@dataclass(frozen=True)
class Plain(Shape):
    """A value of one of JSON's plain types."""

    type: type[Any]
    called: str
    json: str
    choices: tuple[str, ...] = ()
    least: float | None = None

    def checked(self, value: Any, path: KeyPath) -> Any:
        """The value; a whole number is converted to a float."""
        if self.type is float and type(value) is int:
            value = float(value)
        if type(value) is not self.type:
            raise ShapeError(f"expected {self.called}, found {shown(value)}", path)
        if self.choices and value not in self.choices:
            raise ShapeError(unknown("one of", value, self.choices), path)
        if self.least is not None and not value >= self.least:
            raise ShapeError(f"expected {self.called} from {self.least:g}, found {shown(value)}", path)
        return value

    def schema(self) -> dict[str, Any]:
        """The schema with type, choices and least value."""
        found: dict[str, Any] = {"type": self.json}
        if self.choices:
            found["enum"] = list(self.choices)
        return found if self.least is None else found | {"minimum": self.least}


TEXT = Plain(str, "text", "string")
FLAG = Plain(bool, "true or false", "boolean")
NUMBER = Plain(float, "a number", "number")
COUNT = Plain(int, "a whole number", "integer", least=1)
WHOLE = Plain(int, "a whole number", "integer", least=0)


def one_of(*choices: str) -> Plain:
    """The shape of a text that is one of these words."""
    return Plain(str, "text", "string", choices)


@dataclass(frozen=True)
class Scalar(Shape):
    """A text or a number, as a variable of a study takes it."""

    def checked(self, value: Any, path: KeyPath) -> str:
        """The value as text, because it will be put into a line."""
        if type(value) not in (str, int, float):
            raise ShapeError(f"expected a text or a number, found {shown(value)}", path)
        return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)

    def schema(self) -> dict[str, Any]:
        """The schema of a string or a number."""
        return {"type": ["string", "number"]}


@dataclass(frozen=True)
class ListOf(Shape):
    """Several values of one shape."""

    shape: Shape

    def checked(self, value: Any, path: KeyPath) -> tuple[Any, ...]:
        """The value with each element checked."""
        if not isinstance(value, list):
            raise ShapeError(f"expected a list in [ ], found {shown(value)}", path)
        return tuple(self.shape.checked(part, (*path, place)) for place, part in enumerate(value))

    def schema(self) -> dict[str, Any]:
        """The schema of an array."""
        return {"type": "array", "items": self.shape.schema()}


@dataclass(frozen=True)
class TableOf(Shape):
    """A table with any names, and values of one shape."""

    shape: Shape

    def checked(self, value: Any, path: KeyPath) -> dict[str, Any]:
        """The value with each element checked."""
        if not isinstance(value, dict):
            raise ShapeError(f"expected a table of names with values, found {shown(value)}", path)
        return {name: self.shape.checked(part, (*path, name)) for name, part in value.items()}

    def schema(self) -> dict[str, Any]:
        """The schema of an object with any keys."""
        return {"type": "object", "additionalProperties": self.shape.schema()}


@dataclass(frozen=True)
class Record(Shape):
    """A table whose keys are the fields of a dataclass, made with `key`."""

    kind: type[Any]

    def checked(self, value: Any, path: KeyPath) -> Any:
        """The record; an error for an unknown or a missing key."""
        if not isinstance(value, dict):
            raise ShapeError(f"expected a table, found {shown(value)}", path)
        known = {part.name: part for part in fields(self.kind)}
        for name in value:
            if name not in known:
                raise ShapeError(unknown("a key", name, known), (*path, name))
        for name, part in known.items():
            if name not in value and part.default is MISSING and part.default_factory is MISSING:
                raise ShapeError(f'expected a key "{name}" ({part.metadata["about"]}), found none', path)
        return self.kind(
            **{name: known[name].metadata["shape"].checked(part, (*path, name)) for name, part in value.items()}
        )

    def schema(self) -> dict[str, Any]:
        """The schema of an object with these keys and no others."""
        properties = {
            part.name: {**part.metadata["shape"].schema(), "description": part.metadata["about"]}
            for part in fields(self.kind)
        }
        needed = [p.name for p in fields(self.kind) if p.default is MISSING and p.default_factory is MISSING]
        found = {"type": "object", "properties": properties, "additionalProperties": False}
        return found | ({"required": needed} if needed else {})


def key(shape: Shape, about: str, default: Any = MISSING) -> Any:
    """A field of a record: its shape, description and default."""
    metadata: Mapping[str, Any] = {"shape": shape, "about": about}
    if isinstance(default, (dict, list)):
        factory: Callable[[], Any] = default.copy
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)
