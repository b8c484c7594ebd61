"""A table of results: title, columns and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwell.core import ParameterError
from rankwell.report.renderers import RENDERERS

Cell: TypeAlias = str | int | float | None
Align: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True)
class Column:
    """The format of a column. Its name is also the key in JSON; `digits` are decimal places."""

    name: str
    align: Align = "right"
    digits: int | None = None
    thousands: bool = True


@dataclass(frozen=True)
class Table:
    """A title, columns with different names, and rows with one cell for each column."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if not names or len(set(names)) < len(names):
            raise ParameterError("columns", expected="at least one, each with a name of its own", found=names)
        for row in self.rows:
            if len(row) != len(names):
                raise ParameterError(f"table {self.title}", expected=f"rows of {len(names)} cells", found=list(row))
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "rows", tuple(tuple(map(_plain, row)) for row in self.rows))

    def render(self, output: str = "table") -> str:
        """The table as text: `table` (terminal), `md`, `latex`, `csv` or `json`."""
        if output not in RENDERERS:
            raise ParameterError("output", expected=f"one of {', '.join(RENDERERS)}", found=output)
        return RENDERERS[output](self)


def _plain(cell: Any) -> Any:
    """A numpy number as Python's number, for JSON."""
    return cell.item() if isinstance(cell, np.generic) else cell
