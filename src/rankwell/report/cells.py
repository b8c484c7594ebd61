"""What stands in a cell of a table: as people read it, and as programs do."""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rankwell.report.table import Cell, Column

MISSING = "-"
# Joiners have no width but shape the letters of Persian, Hindi and emoji; they do no harm.
JOINERS = "\u200c\u200d"


class Marked(str):
    """A number with marks of significance behind it, as people read it; programs are given its `value`."""

    __slots__ = ("value",)
    value: float

    def __new__(cls, text: str, value: float) -> Self:
        """The text with the number that it shows."""
        cell = super().__new__(cls, text)
        cell.value = value
        return cell


def cell_text(cell: Cell, column: Column) -> str:
    """The cell for people: thousands apart, digits as the column says, `-` for what is not known."""
    if cell is None or is_missing(cell):
        return MISSING
    if isinstance(cell, str):
        return cell
    thousands = "," if column.thousands else ""
    if isinstance(cell, int) and column.digits is None:
        return f"{cell:{thousands}}"
    if column.digits is None:
        return f"{cell:{thousands}g}"
    smallest = 10**-column.digits
    if 0 < cell < smallest:  # a p-value of 0.0000 would be a lie, and one of 0.0001 would not fit its four stars
        return f"<{smallest:.{column.digits}f}"
    return f"{cell:{thousands}.{column.digits}f}"


def machine_value(cell: Cell) -> str | int | float | None:
    """The cell for programs: numbers as they are; None for what is not known or has no number in JSON."""
    cell = unmarked(cell)
    return None if is_missing(cell) or (isinstance(cell, float) and math.isinf(cell)) else cell


def unmarked(cell: Cell) -> Cell:
    """The number of a cell with marks; any other cell as it is."""
    return cell.value if isinstance(cell, Marked) else cell


def is_missing(cell: Cell) -> bool:
    """Whether the cell holds nothing: None, or a number that is not one."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def visible(text: str) -> str:
    r"""Text on one line in which control characters are seen and do nothing: an escape is written as `\x1b`."""
    return "".join(map(_visible_character, text))


def one_line(text: str) -> str:
    """Text without line breaks of any kind, and with other control characters made visible."""
    return visible(" ".join(text.splitlines()))


def _visible_character(char: str) -> str:
    if char.isprintable() or char in JOINERS:
        return char
    if unicodedata.category(char) == "Zs":
        return " "
    return char.encode("unicode_escape").decode("ascii")
