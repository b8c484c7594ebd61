"""JSON that is not one object a line: arrays of records, wrapped lists, tables by columns, objects after each other.

Arrays are read one element at a time. A single object is read whole, up to `LARGEST` characters.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from rankwell.collections.column_names import IDS, TEXTS
from rankwell.collections.columns import ColumnChoice, listed
from rankwell.collections.format import DocumentFormat, cannot_be_written
from rankwell.collections.reading import CUT, Reading, open_bytes
from rankwell.collections.tables import Row, documents_of_table
from rankwell.core import Document, Phrase

LARGEST = 1 << 27  # characters of one value
BLOCK = 1 << 16
NEAR = 16  # characters; an error closer to the end of a block may only mean that the value goes on
DEEPEST = 5  # objects within each other that become dotted columns
MOST_KEYS = 200  # of an object that becomes columns
SPACE = re.compile(r"[\s\ufeff]*")
SPACE_OR_COMMA = re.compile(r"[\s,]*")
GOES_ON = re.compile(r"[^\n]*[{\[,]\s*\n")  # no line of JSON lines ends so
UNFOLDED = frozenset(("metadata",))
LINES = (".jsonl", ".ndjson")
WRAPPERS = frozenset(
    (
        *("data", "results", "result", "items", "records", "rows", "documents", "docs", "features", "hits", "articles"),
        *("entries", "value", "values", "objects", "content", "list", "response", "papers", "posts", "messages"),
    )
)


def is_json(path: Path, start: str) -> bool:
    """Whether a file starts as an array, or as an object that goes on in the next line or is alone in the file."""
    if path.name.lower().removesuffix(".gz").endswith(LINES):
        return False
    text = start.lstrip("\ufeff \t\r\n")
    if text.startswith("["):
        return re.match(r"\[\s*(?:[\[{\"\]]|$)", text) is not None
    if not text.startswith("{"):
        return False
    if GOES_ON.match(text):
        return True
    return path.name.lower().endswith(".json") and "\n" not in text.strip()


def read_json(path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    """The documents of the records in a JSON file."""
    return documents_of_table(path, _rows(path, reading), choice, reading, typed=None, details=["JSON"])


def _rows(path: Path, reading: Reading) -> Iterator[Row]:
    values = JsonValues(path, reading)
    records = iter(values)
    first = next(records, None)
    if first is None:
        return
    if not values.in_array:
        second = next(records, None)
        if second is None:
            records = ((first[0], record) for record in records_in(first[1]))
        else:
            records = chain([first, second], records)
    else:
        records = chain([first], records)
    names: Sequence[str] | None = None
    for number, value in records:
        if isinstance(value, list) and names is None and value and all(isinstance(name, str) for name in value):
            names = value  # a table of lists begins with the names of its columns
            continue
        row = _row(value, names)
        if row is None:
            expected = f"{len(names)} values ({listed(names)})" if names else "an object with names and values"
            reading.report(path, number, expected, value)
        else:
            yield number, row


def _row(value: Any, names: Sequence[str] | None) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return flat(value)
    if isinstance(value, list) and names is not None and len(value) == len(names):
        return dict(zip(names, value, strict=True))
    return {"text": value} if isinstance(value, str) and value.strip() else None


def flat(row: dict[str, Any], kept: Container[str] = UNFOLDED) -> dict[str, Any]:
    """A row whose inner objects are dotted columns: {"author": {"name": "A"}} as {"author.name": "A"}.

    A list of objects becomes lists of their values. Columns of `kept` stay as they are; `metadata` is unfolded later.
    """
    if not any(is_nested(value) for name, value in row.items() if name not in kept):
        return row
    columns: dict[str, Any] = {}
    for name, value in row.items():
        if name in kept:
            columns[name] = value
        else:
            _spread(name, value, columns, 1)
    return columns


def is_nested(value: Any) -> bool:
    """Whether a value is an object or a list of objects."""
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _spread(name: str, value: Any, columns: dict[str, Any], depth: int) -> None:
    if isinstance(value, dict) and depth < DEEPEST and len(value) <= MOST_KEYS:
        for inner, part in value.items():
            _spread(f"{name}.{inner}", part, columns, depth + 1)
    elif is_nested(value) and isinstance(value, list) and depth < DEEPEST:
        gathered: dict[str, list[str]] = {}
        for part in value:
            own: dict[str, Any] = {}
            _spread(name, part, own, depth + 1)
            for key, text in own.items():
                texts = text if isinstance(text, list) else [text]
                gathered.setdefault(key, []).extend(str(one) for one in texts if one not in (None, ""))
        columns |= {key: texts for key, texts in gathered.items() if texts}
    elif value not in (None, [], {}):
        columns[name] = value


def records_in(value: Any) -> Iterator[Any]:
    """The records of a single object: a list in it, a table by columns or by rows, else the object itself."""
    if not isinstance(value, dict):
        return iter([value])
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):  # as pandas splits a table
        return iter([value["columns"], *value["data"]])
    parts = list(value.values())
    if len(parts) > 1 and all(isinstance(part, list) for part in parts) and len({len(part) for part in parts}) == 1:
        plain = not any(is_nested(part) for part in parts)
        if plain and parts[0]:
            return (dict(zip(value, cells, strict=True)) for cells in zip(*parts, strict=True))
    if parts and all(isinstance(part, dict) for part in parts) and len(value) > 1:
        if all(key.isdecimal() for part in parts for key in part) and any(parts):  # by columns, as pandas writes it
            rows = dict.fromkeys(key for part in parts for key in part)
            return ({name: part.get(key) for name, part in value.items()} for key in rows)
        if len(set.union(*(set(part) for part in parts))) <= MOST_KEYS and _alike(parts):
            return ({"key": key, **part} for key, part in value.items())
    found = _wrapped(value)
    return iter([value] if found is None else found)


def _alike(parts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether most objects share a key."""
    common = set(parts[0]) & set(parts[-1])
    return any(sum(key in part for part in parts) > len(parts) / 2 for key in common)


def _wrapped(value: Mapping[str, Any], depth: int = 0) -> list[Any] | None:
    """The list of records that the object is only a wrapper of."""
    lists = [(name, part) for name, part in value.items() if isinstance(part, list) and is_nested(part)]
    known = [part for name, part in lists if name.lower() in WRAPPERS]
    record = {name.lower() for name in value} & {*IDS, *TEXTS}
    if known and (not record or len(known[0]) > 1):
        return max(known, key=len)
    if len(lists) == 1 and not record:
        return lists[0][1]
    inner = [part for name, part in value.items() if isinstance(part, dict) and name.lower() in WRAPPERS]
    return next(filter(None, (_wrapped(part, depth + 1) for part in inner)), None) if depth < DEEPEST else None


class JsonValues:
    """The values in a JSON file with their lines: the elements of an array, or values after each other.

    `in_array` is known after the first value. What is no JSON is a problem, and ends the file.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self.reading, self.in_array = path, reading, False
        self._text, self._place, self._line, self._whole, self._step = "", 0, 1, False, BLOCK

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        with io.TextIOWrapper(open_bytes(self.path, self.reading), self.reading.codec, newline="") as file:
            self._more(file)
            self._skip(SPACE, file)
            if self._text.startswith("[", self._place):
                self.in_array, self._place = True, self._place + 1
            between = SPACE_OR_COMMA if self.in_array else SPACE
            while self._skip(between, file):
                if self.in_array and self._text[self._place] == "]":
                    self._place += 1
                    if self._skip(SPACE, file):
                        self._wrong("the end of the file after the array", self._text[self._place : self._place + 40])
                    return
                value = self._value(file)
                if value is None:
                    return
                yield value
            if self.in_array:
                self._wrong("an array that is closed", Phrase("the end of the file"))

    def _value(self, file: TextIO) -> tuple[int, Any] | None:
        """The next value with its line; None after a problem."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._place)
            except (ValueError, RecursionError) as error:
                if self._may_go_on(error) and self._more(file):
                    continue
                self._wrong(*_reason(error, self._text, self._place, whole=self._whole))
                return None
            if end == len(self._text) and not self._whole and self._more(file):  # a number may go on
                continue
            line = self._line
            self._line += self._text.count("\n", self._place, end)
            self._place, self._step = end, BLOCK
            return line, value

    def _may_go_on(self, error: Exception) -> bool:
        if self._whole or len(self._text) - self._place > LARGEST or not isinstance(error, json.JSONDecodeError):
            return False
        return error.msg.startswith("Unterminated") or error.pos >= len(self._text) - NEAR

    def _skip(self, what: re.Pattern[str], file: TextIO) -> bool:
        """Go to the next character that is not skipped; False at the end of the file."""
        while True:
            match = what.match(self._text, self._place)
            end = match.end() if match else self._place
            self._line += self._text.count("\n", self._place, end)
            self._place = end
            if end < len(self._text):
                return True
            if not self._more(file):
                return False

    def _more(self, file: TextIO) -> bool:
        """Read on; twice as much each time, so that a long value is not tried too often."""
        if self._whole:
            return False
        try:
            block = file.read(self._step)
        except (UnicodeDecodeError, *CUT) as error:
            self.reading.report(self.path, self._line, "text in one encoding in a whole file", Phrase(str(error)[:100]))
            block = ""
        self._text, self._place = self._text[self._place :] + block, 0
        self._step, self._whole = self._step * 2, not block
        return bool(block)

    def _wrong(self, expected: str, found: Any) -> None:
        self.reading.report(self.path, self._line, expected, found)


def _reason(error: Exception, text: str, place: int, *, whole: bool) -> tuple[str, Any]:
    if isinstance(error, RecursionError):
        return "JSON with fewer objects within each other", text[place : place + 40]
    if not whole and len(text) - place > LARGEST:
        return f"a value of at most {LARGEST:,} characters: write one object a line (JSON lines) instead", Phrase(
            "more"
        )
    at = error.pos if isinstance(error, json.JSONDecodeError) else place
    reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)[:60]
    return f"JSON ({reason})", text[at : at + 60] or Phrase("the end of the file")


_DECODER = json.JSONDecoder(strict=False)
JSON = DocumentFormat("json", is_json, read_json, cannot_be_written("JSON of this shape"))
