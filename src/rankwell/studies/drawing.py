"""A study's figures: numbers that know which picture shows them."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from rankwell.core import MissingExtraError
from rankwell.plots import Line, Picture, bars, boxes, columns, histogram, lines, stacked_bars

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
        """Draw it."""


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
    """Curves over numbers."""

    curves: tuple[Curve, ...] = ()
    level: float | None = None

    def picture(self) -> Picture:
        """Lines with their bands."""
        curves = [Line(curve.name, curve.x, curve.y, curve.low, curve.high) for curve in self.curves]
        return lines(curves, title=self.title, x=self.x, y=self.y, level=self.level)


@dataclass(frozen=True)
class Bars(Drawing):
    """A bar for each label, for each series."""

    series: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    digits: int = DIGITS

    def picture(self) -> Picture:
        """Bars that lie; all series have the labels of the first."""
        labels = list(next(iter(self.series.values())))
        heights = {name: [of[label] for label in labels] for name, of in self.series.items()}
        return bars(labels, heights, title=self.title, x=self.x, digits=self.digits)


@dataclass(frozen=True)
class Columns(Drawing):
    """How often each whole number occurs, where these are few."""

    counts: Mapping[int, float] = field(default_factory=dict)

    def picture(self) -> Picture:
        """A column for each number."""
        return columns(self.counts, title=self.title, x=self.x, y=self.y)


@dataclass(frozen=True)
class Stacks(Drawing):
    """A column for each label, built up of the series."""

    series: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def picture(self) -> Picture:
        """Columns; all series have the labels of the first."""
        labels = list(next(iter(self.series.values())))
        heights = {name: [of[label] for label in labels] for name, of in self.series.items()}
        return stacked_bars(labels, heights, title=self.title, x=self.x, y=self.y)


@dataclass(frozen=True)
class Boxes(Drawing):
    """Quartiles of several groups of numbers."""

    groups: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def picture(self) -> Picture:
        """A box for each group."""
        return boxes(self.groups, title=self.title, x=self.x, y=self.y)


@dataclass(frozen=True)
class Histogram(Drawing):
    """How often each number occurs; what lies beyond the limit is marked."""

    values: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    limit: int | None = None

    def picture(self) -> Picture:
        """A histogram."""
        return histogram(self.values, counts=self.counts, title=self.title, x=self.x, y=self.y, limit=self.limit)


def drawn(drawing: Drawing) -> Picture | None:
    """The picture; None where matplotlib is not installed, which is said."""
    try:
        return drawing.picture()
    except MissingExtraError as error:
        logger.warning("the report has no figures: %s", error)
        return None
