"""Values in and out of ClickHouse: SQL literals by one typed writer, and the Native column format."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import Floats, Integers, RankwellError

Settings = Mapping[str, Any]

ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\0": "\\0"})
SURROGATE = re.compile("[\ud800-\udfff]")  # a lone surrogate, which UTF-8 cannot encode


@dataclass(frozen=True)
class Sql:
    """A statement or a part of one; only `sql` makes them."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Name:
    """The name of a table, column or database as a value."""

    text: str


def sql(template: str, /, **values: Any) -> Sql:
    """One of our templates with values in its braces: parts of SQL unchanged, everything else as literals."""
    return Sql(template.format_map({name: literal(value) for name, value in values.items()}))


def joined(between: str, parts: Sequence[Sql]) -> Sql:
    """Parts in parentheses, joined by one of our operators."""
    return Sql(f" {between} ".join(f"({part})" for part in parts))


def listed(parts: Sequence[Sql]) -> Sql:
    """Parts joined by commas."""
    return Sql(", ".join(map(str, parts)))


def literal(value: Any) -> str:
    """A value as an SQL literal. Tuples are for IN, lists are arrays."""
    empty = isinstance(value, tuple) and not value  # which IN cannot take
    for kinds, written in WRITERS:
        if isinstance(value, kinds) and not empty:
            return written(value)
    raise TypeError(f"expected a number, a text or a list of them, found {value!r:.100}")


def inserting(table: Sql, columns: Mapping[str, Column]) -> Sql:
    """The beginning of a statement that inserts these columns."""
    return sql("INSERT INTO {table} ({names})", table=table, names=Sql(", ".join(f"`{name}`" for name in columns)))


def _escaped(text: str) -> str:
    return SURROGATE.sub("\ufffd", text).translate(ESCAPES)


def _number(value: float) -> str:
    """A literal with a decimal point, so that it is never an integer; negative numbers are in parentheses."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "(-inf)"
    return f"({value!r})" if value < 0 else repr(value)


WRITERS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (Sql, str),
    (Name, lambda name: "`" + _escaped(name.text).replace("`", "\\`") + "`"),
    (str, lambda text: f"'{_escaped(text)}'"),
    ((int, np.integer, np.bool_), lambda number: str(int(number))),
    ((float, np.floating), lambda number: _number(float(number))),
    (list, lambda values: "[" + ", ".join(map(literal, values)) + "]"),
    (tuple, lambda values: "(" + ", ".join(map(literal, values)) + ")"),
)
"""What makes literals of each kind of value; the first that fits."""


NUMBERS = {
    f"{kind}{bits}": np.dtype(f"<{code}{bits // 8}")
    for kind, code in (("UInt", "u"), ("Int", "i"))
    for bits in (8, 16, 32, 64)
}
NUMBERS |= {"Float32": np.dtype("<f4"), "Float64": np.dtype("<f8")}
SMALL = 0x80


class Answer(dict[str, Any]):
    """The columns of an answer by name: numbers as arrays, texts as lists. Without rows it is empty."""

    def column(self, name: str) -> list[Any]:
        """The values of a column."""
        values = self.get(name, [])
        return values if isinstance(values, list) else values.tolist()

    def rows(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """The rows of these columns."""
        return zip(*map(self.column, names), strict=True)

    def integers(self, name: str) -> Integers:
        """A column as an array of integers."""
        return np.asarray(self.get(name, ()), dtype=np.int64)

    def floats(self, name: str) -> Floats:
        """A column as an array of 32-bit floats."""
        return np.asarray(self.get(name, ()), dtype=np.float32)

    def number(self, name: str) -> int:
        """The number in the first row."""
        return int(self[name][0])


class Column(NamedTuple):
    """A column to write: its type, its number of rows, and its bytes."""

    kind: str
    rows: int
    data: bytes


def numbers(kind: str, values: Any) -> Column:
    """A column of numbers of that type."""
    array = np.ascontiguousarray(values, dtype=NUMBERS[kind])
    return Column(kind, len(array), array.tobytes())


def texts(values: Iterable[str]) -> Column:
    """A column of texts."""
    parts = [packed(value) for value in values]
    return Column("String", len(parts), b"".join(parts))


def repeated_texts(values: Sequence[bytes], counts: Sequence[int]) -> Column:
    """A column of packed texts, each repeated `counts` times in a row."""
    data = b"".join([value * count for value, count in zip(values, counts, strict=True)])
    return Column("String", int(sum(counts)), data)


def optional_texts(values: Sequence[str | None]) -> Column:
    """A column of texts with missing values."""
    missing = bytes(value is None for value in values)
    data = b"".join([packed(value or "") for value in values])
    return Column("Nullable(String)", len(values), missing + data)


def arrays(kind: str, counts: Sequence[int] | Any, values: Any) -> Column:
    """A column of arrays of that type, with `counts` of the concatenated values each."""
    array = np.ascontiguousarray(values, dtype=NUMBERS[kind])
    ends = np.cumsum(counts, dtype="<u8")
    return Column(f"Array({kind})", len(ends), ends.tobytes() + array.tobytes())


def vectors(rows: npt.NDArray[Any]) -> Column:
    """Rows of numbers as arrays of Float32."""
    return arrays("Float32", np.full(len(rows), rows.shape[1]), rows)


def packed(text: str) -> bytes:
    """A text with its length as prefix."""
    data = text.encode("utf-8", "replace")
    return _varint(len(data)) + data


def block(columns: Mapping[str, Column]) -> bytes:
    """Columns as one block."""
    rows = next(iter(columns.values())).rows
    parts = [_varint(len(columns)), _varint(rows)]
    for name, column in columns.items():
        if column.rows != rows:
            raise ValueError(f"{name}: expected {rows} rows, found {column.rows}")
        parts += [packed(name), packed(column.kind), column.data]
    return b"".join(parts)


def read_blocks(data: bytes) -> Answer:
    """All blocks of an answer as one."""
    columns: dict[str, list[Any]] = {}
    place = 0
    while place < len(data):
        count, place = _read_varint(data, place)
        rows, place = _read_varint(data, place)
        for _ in range(count):
            name, place = _read_text(data, place)
            kind, place = _read_text(data, place)
            values, place = _read_column(data, place, kind, rows)
            columns.setdefault(name, []).append(values)
    return Answer({name: _joined(parts) for name, parts in columns.items()})


def _joined(parts: list[Any]) -> Any:
    return list(chain.from_iterable(parts)) if isinstance(parts[0], list) else np.concatenate(parts)


def _read_column(data: bytes, place: int, kind: str, rows: int) -> tuple[Any, int]:
    if kind in NUMBERS:
        dtype = NUMBERS[kind]
        return np.frombuffer(data, dtype, rows, place), place + rows * dtype.itemsize
    if kind != "String":
        raise RankwellError(f"the engine's answer: expected numbers or texts, found a column of type {kind}")
    values = []
    for _ in range(rows):
        length = data[place]
        place += 1
        if length >= SMALL:  # most are short: this loop is the time that an answer takes
            length, place = _read_varint(data, place - 1)
        values.append(data[place : place + length].decode("utf-8", "replace"))
        place += length
    return values, place


def _read_text(data: bytes, place: int) -> tuple[str, int]:
    length, place = _read_varint(data, place)
    return data[place : place + length].decode(), place + length


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & (SMALL - 1)) << shift
        if byte < SMALL:
            return value, place
        shift += 7


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value >= SMALL:
        parts.append(value & (SMALL - 1) | SMALL)
        value >>= 7
    parts.append(value)
    return bytes(parts)
