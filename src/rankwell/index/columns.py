"""Metadata columns: one value a document, for filters and facets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwell.core.arrays import Strings, strings
from rankwell.index.blocks import BlockFile, BlockWriter
from rankwell.index.layout import Array
from rankwell.index.texts import Texts, add_texts


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers; NaN where a document has none."""

    numbers: Array

    def counts(self, among: Array) -> Counter[float]:
        """How many of these documents have each value."""
        chosen = self.numbers[among]
        values, counts = np.unique(chosen[~np.isnan(chosen)], return_counts=True)
        return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Text as numbers: the distinct values in their order, and the place of each document's own (-1: none)."""

    codes: Array
    values: Strings

    def counts(self, among: Array) -> Counter[str]:
        """How many of these documents have each value."""
        codes = self.codes[among]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.values)).tolist()
        return Counter({value: count for value, count in zip(self.values.tolist(), counts, strict=True) if count})


Column = NumberColumn | TextColumn


def write_column(file: BlockWriter, name: str, values: Sequence[Any]) -> None:
    """The values of one column (None: none), as numbers if they are all numbers, else as text."""
    write_made(file, name, _made(values))


def write_made(file: BlockWriter, name: str, column: Column) -> None:
    """A column that exists already."""
    if isinstance(column, NumberColumn):
        file.add(f"number:{name}", column.numbers.astype(np.float64, copy=False))
    else:
        file.add(f"codes:{name}", column.codes.astype(np.int32, copy=False))
        add_texts(file, f"values:{name}", column.values.tolist())


def read_column(file: BlockFile, name: str, documents: int) -> Column:
    """The column of a segment; one that was not kept there has no value anywhere."""
    if f"number:{name}" in file:
        return NumberColumn(file[f"number:{name}"].all())
    if f"codes:{name}" in file:
        return TextColumn(file[f"codes:{name}"].all(), strings(Texts(file, f"values:{name}").all()))
    return NumberColumn(np.full(documents, np.nan))


def joined(columns: Iterable[Column]) -> Column:
    """The columns of several segments, one after the other; numbers become text where one of them has text."""
    parts = list(columns)
    if all(isinstance(part, NumberColumn) for part in parts):
        return NumberColumn(np.concatenate([np.zeros(0), *(p.numbers for p in parts if isinstance(p, NumberColumn))]))
    texts = [_as_text(part) for part in parts]
    values = sorted({value for part in texts for value in part.values.tolist()})
    place = {value: code for code, value in enumerate(values)}
    codes = [
        np.array([*(place[value] for value in part.values.tolist()), -1], dtype=np.int32)[part.codes] for part in texts
    ]
    return TextColumn(np.concatenate(codes), strings(values))


def _made(values: Sequence[Any]) -> Column:
    present = [value for value in values if value is not None]
    if all(isinstance(value, (int, float)) for value in present):
        return NumberColumn(np.array([math.nan if value is None else _number(value) for value in values]))
    texts = [None if value is None else written(value) for value in values]
    distinct = sorted({value for value in texts if value is not None})
    place: dict[str | None, int] = {value: code for code, value in enumerate(distinct)}
    return TextColumn(np.array([place.get(value, -1) for value in texts], dtype=np.int32), strings(distinct))


def _as_text(column: Column) -> TextColumn:
    if isinstance(column, TextColumn):
        return column
    made = _made([None if math.isnan(number) else written(number) for number in column.numbers.tolist()])
    return made if isinstance(made, TextColumn) else TextColumn(np.full(len(column.numbers), -1), strings([]))


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def written(value: Any) -> str:
    """As a person would write it: 2020.0 is 2020. A NUL, which ends a text on the disk, is no part of a value."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value if isinstance(value, str) else str(value)
    return text.replace("\0", " ").encode("utf-8", "replace").decode()
