"""The numbers of a study, each with interval, mark and cell, and their pictures."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rankwell.core import MissingExtraError
from rankwell.report.pictures import Line, Picture, bars, boxes, columns, histogram, lines, stacked_bars

logger = logging.getLogger(__name__)
DIGITS = 3


@dataclass(frozen=True)
class Drawing(ABC):
    """A figure to draw; `name` is that of its file within its table."""

    name: str
    title: str
    x: str
    y: str = ""

    @abstractmethod
    def picture(self) -> Picture:
        """Draw the picture."""


@dataclass(frozen=True)
class Curve:
    """Points of a figure: `y` over `x`, with the ends of its band where it has one."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Lines(Drawing):
    """A line chart of curves."""

    curves: tuple[Curve, ...] = ()
    level: float | None = None

    def picture(self) -> Picture:
        """Draw lines with their bands."""
        curves = [Line(curve.name, curve.x, curve.y, curve.low, curve.high) for curve in self.curves]
        return lines(curves, title=self.title, x=self.x, y=self.y, level=self.level)


@dataclass(frozen=True)
class Bars(Drawing):
    """A bar chart with a bar for each label and series."""

    series: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    digits: int = DIGITS

    def picture(self) -> Picture:
        """Draw horizontal bars; all series have the labels of the first."""
        labels = list(next(iter(self.series.values())))
        heights = {name: [of[label] for label in labels] for name, of in self.series.items()}
        return bars(labels, heights, title=self.title, x=self.x, digits=self.digits)


@dataclass(frozen=True)
class FigureColumns(Drawing):
    """Counts of a few whole numbers."""

    counts: Mapping[int, float] = field(default_factory=dict)

    def picture(self) -> Picture:
        """Draw a column for each number."""
        return columns(self.counts, title=self.title, x=self.x, y=self.y)


@dataclass(frozen=True)
class Stacks(Drawing):
    """A stacked column for each label."""

    series: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def picture(self) -> Picture:
        """Draw stacked columns; all series have the labels of the first."""
        labels = list(next(iter(self.series.values())))
        heights = {name: [of[label] for label in labels] for name, of in self.series.items()}
        return stacked_bars(labels, heights, title=self.title, x=self.x, y=self.y)


@dataclass(frozen=True)
class Boxes(Drawing):
    """Quartiles of several groups of numbers."""

    groups: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def picture(self) -> Picture:
        """Draw a box for each group."""
        return boxes(self.groups, title=self.title, x=self.x, y=self.y)


@dataclass(frozen=True)
class Histogram(Drawing):
    """A histogram of numbers; the share beyond the limit is marked."""

    values: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    limit: int | None = None

    def picture(self) -> Picture:
        """Draw a histogram."""
        return histogram(self.values, counts=self.counts, title=self.title, x=self.x, y=self.y, limit=self.limit)


def drawn(drawing: Drawing) -> Picture | None:
    """The picture; None with a warning where matplotlib is not installed."""
    try:
        return drawing.picture()
    except MissingExtraError as error:
        logger.warning("the report has no figures: %s", error)
        return None


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
        told = {name: value for name, value in asdict(self).items() if value not in (None, "")}
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in told.items()}


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
        told = {"table": self.name, "title": self.title, "collection": self.collection, "queries": self.queries}
        return told | {"columns": list(self.columns), "rows": rows, "notes": list(self.notes), "advice": self.advice}
