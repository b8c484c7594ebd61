r"""SQL with values in it, written by one typed writer.

The engine's own parameters (`{name:Type}`) came after version 18, which we speak too; so values become literals here,
and nowhere else. A text is a literal between single quotes in which quotes, backslashes and NUL are escaped; the
engine knows no other way out of a literal (comments, `;` and newlines mean nothing inside one).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\0": "\\0"})
SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which UTF-8 has no bytes for


@dataclass(frozen=True)
class Sql:
    """A statement or a part of one; only `sql` makes them."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Name:
    """A table's, column's or database's name as a value."""

    text: str


def sql(template: str, /, **values: Any) -> Sql:
    """A template of ours with values in its braces: parts of SQL as they are, everything else as literals."""
    return Sql(template.format_map({name: literal(value) for name, value in values.items()}))


def joined(between: str, parts: Sequence[Sql]) -> Sql:
    """Parts with a word of ours between them, each in parentheses."""
    return Sql(f" {between} ".join(f"({part})" for part in parts))


def listed(parts: Sequence[Sql]) -> Sql:
    """Parts with commas between them."""
    return Sql(", ".join(map(str, parts)))


def literal(value: Any) -> str:
    """A value as the engine reads it. Tuples are for IN, lists are arrays."""
    empty = isinstance(value, tuple) and not value  # which IN cannot take
    for kinds, written in WRITERS:
        if isinstance(value, kinds) and not empty:
            return written(value)
    raise TypeError(f"expected a number, a text or a list of them, found {value!r:.100}")


def settings_text(settings: Mapping[str, Any]) -> Sql:
    """Settings for the end of a statement; nothing without any."""
    pairs = [f"{name} = {literal(value)}" for name, value in settings.items()]
    return Sql(" SETTINGS " + ", ".join(pairs) if pairs else "")


def _escaped(text: str) -> str:
    return SURROGATE.sub("\ufffd", text).translate(ESCAPES)


def _number(value: float) -> str:
    """With a point, so that it is never a whole number; what is negative stands in parentheses."""
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
