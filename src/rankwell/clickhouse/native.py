"""The engine's own column format (Native): what goes in and comes out, as numpy arrays and lists of texts.

    blocks of:  number of columns, number of rows; then for each column its name, its type and its values
    numbers     little-endian, one after the other
    String      a length and the bytes, one after the other
    Nullable    a byte for each row (1: none), then the values
    Array       where each row ends (UInt64), then the values of all

Lengths are written with seven bits a byte, lowest first (LEB128). Only the types that we use are known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankwell.core import RankwellError

NUMBERS = {
    f"{kind}{bits}": np.dtype(f"<{code}{bits // 8}")
    for kind, code in (("UInt", "u"), ("Int", "i"))
    for bits in (8, 16, 32, 64)
}
NUMBERS |= {"Float32": np.dtype("<f4"), "Float64": np.dtype("<f8")}
SMALL = 0x80

Columns = dict[str, Any]  # numbers as arrays, texts as lists


class Column:
    """A column to be written: its type, its rows, and its bytes."""

    def __init__(self, kind: str, rows: int, data: bytes) -> None:
        self.kind, self.rows, self.data = kind, rows, data


def numbers(kind: str, values: Any) -> Column:
    """Numbers of that type."""
    array = np.ascontiguousarray(values, dtype=NUMBERS[kind])
    return Column(kind, len(array), array.tobytes())


def texts(values: Iterable[str]) -> Column:
    """Texts."""
    parts = [packed(value) for value in values]
    return Column("String", len(parts), b"".join(parts))


def repeated_texts(values: Sequence[bytes], counts: Sequence[int]) -> Column:
    """Packed texts, each so many times in a row."""
    data = b"".join([value * count for value, count in zip(values, counts, strict=True)])
    return Column("String", int(sum(counts)), data)


def optional_texts(values: Sequence[str | None]) -> Column:
    """Texts, some of which are missing."""
    missing = bytes(value is None for value in values)
    data = b"".join([packed(value or "") for value in values])
    return Column("Nullable(String)", len(values), missing + data)


def vectors(rows: Any) -> Column:
    """Rows of numbers as arrays of Float32."""
    array = np.ascontiguousarray(rows, dtype="<f4")
    ends = np.arange(1, len(array) + 1, dtype="<u8") * np.uint64(array.shape[1])
    return Column("Array(Float32)", len(array), ends.tobytes() + array.tobytes())


def arrays(kind: str, counts: Sequence[int] | Any, values: Any) -> Column:
    """Rows of numbers of that type, each so many of the values, which stand one after the other."""
    array = np.ascontiguousarray(values, dtype=NUMBERS[kind])
    ends = np.cumsum(counts, dtype="<u8")
    return Column(f"Array({kind})", len(ends), ends.tobytes() + array.tobytes())


def packed(text: str) -> bytes:
    """A text with its length before it."""
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


def read_blocks(data: bytes) -> Columns:
    """All blocks of an answer as one: by name, numbers as arrays and texts as lists. Empty without a block."""
    found: dict[str, list[Any]] = {}
    place = 0
    while place < len(data):
        count, place = _read_varint(data, place)
        rows, place = _read_varint(data, place)
        for _ in range(count):
            name, place = _read_text(data, place)
            kind, place = _read_text(data, place)
            values, place = _read_column(data, place, kind, rows)
            found.setdefault(name, []).append(values)
    return {name: _joined(parts) for name, parts in found.items()}


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], list):
        return [text for part in parts for text in part]
    return np.concatenate(parts)


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
        if length >= SMALL:
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
