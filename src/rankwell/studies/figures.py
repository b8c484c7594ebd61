"""The numbers of a study: every figure with its interval, its mark, and the cell that it comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rankwell.studies.drawing import Drawing


@dataclass(frozen=True)
class Figure:
    """One number of a table. `cell` names the run that it was measured on."""

    value: float
    cell: str | None = None
    low: float | None = None
    high: float | None = None
    difference: float | None = None  # to the baseline
    p: float | None = None
    mark: str = ""
    published: float | None = None
    digits: int = 4

    def plain(self) -> dict[str, Any]:
        """For JSON: what is not known is left out, what is no number is null."""
        told = {name: value for name, value in asdict(self).items() if value not in (None, "")}
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in told.items()}


@dataclass(frozen=True)
class ResultRow:
    """A row: its pipeline, and a figure for each column that it has one for."""

    name: str
    line: str
    figures: Mapping[str, Figure]
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultTable:
    """A table of the study on a collection, or on several where these are its columns."""

    name: str  # of the table in the file
    title: str
    collection: str
    queries: int
    columns: tuple[str, ...] = ()
    rows: tuple[ResultRow, ...] = ()
    notes: tuple[str, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    about: str = ""
    after: str = ""
    published_on: str = ""
    differences: str = ""
    advice: str = ""  # what to do about it
    against: str = "the first row"  # what marks compare with
    corrected: bool = True  # as the study says, for the number of rows

    @property
    def anchor(self) -> str:
        """A name of its own within the report."""
        plain = "".join(char if char.isalnum() else "-" for char in self.collection.lower())
        return f"{self.name}-{plain}"

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        rows = [
            {"row": row.name, "line": row.line, "figures": {name: f.plain() for name, f in row.figures.items()}}
            for row in self.rows
        ]
        told = {"table": self.name, "title": self.title, "collection": self.collection, "queries": self.queries}
        return told | {"columns": list(self.columns), "rows": rows, "notes": list(self.notes), "advice": self.advice}
