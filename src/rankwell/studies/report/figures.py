"""The numbers of a study's tables, each with interval, mark and cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from rankwell.report.pictures import Picture

Drawing = partial[Picture]  # draws a picture when it is called
Series = Mapping[str, Mapping[str, float]]  # amounts by label, of each series


def in_columns(series: Series) -> tuple[list[str], dict[str, list[float]]]:
    """The labels, which are those of the first series, and the amounts of each series."""
    labels = list(next(iter(series.values())))
    return labels, {name: [of[label] for label in labels] for name, of in series.items()}


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
        """The figure for JSON: unknown values are left out, NaN is null."""
        known = {name: value for name, value in asdict(self).items() if value not in (None, "")}
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in known.items()}


@dataclass(frozen=True)
class ResultRow:
    """A row: its pipeline, and its figures by column."""

    name: str
    line: str
    figures: Mapping[str, Figure]
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultTable:
    """A table of the study for one collection, or with a column for each of several."""

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
        """A unique name within the report, for links."""
        plain = "".join(char if char.isalnum() else "-" for char in self.collection.lower())
        return f"{self.name}-{plain}"

    def plain(self) -> dict[str, Any]:
        """The table for JSON."""
        rows = [
            {"row": row.name, "line": row.line, "figures": {name: f.plain() for name, f in row.figures.items()}}
            for row in self.rows
        ]
        about = {"table": self.name, "title": self.title, "collection": self.collection, "queries": self.queries}
        return about | {"columns": list(self.columns), "rows": rows, "notes": list(self.notes), "advice": self.advice}
