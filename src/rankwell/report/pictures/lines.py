"""Lines with bands of uncertainty, and differences query by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.report.pictures.style import (
    DASHES,
    HEIGHT,
    MARKERS,
    MUTED,
    PALETTE,
    Picture,
    drawing,
    figure_text,
    legend_below,
    new_axes,
    words,
)

# With more points than this, markers would overlap.
MOST_MARKED_POINTS = 30
DIGITS = 4


@dataclass(frozen=True)
class Line:
    """One line: a `y` for each `x`, and the ends of the band (say the 95 % confidence interval) around each."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ParameterError(f"line {self.name}", expected="both ends of the band or neither", found="one of them")
        for part in (self.y, self.low, self.high):
            if part is not None and len(part) != len(self.x):
                raise ParameterError(f"line {self.name}", expected=f"{len(self.x)} points", found=len(part))


def lines(curves: Sequence[Line], *, title: str, x: str, y: str, level: float | None = None) -> Picture:
    """The lines in one picture; `level` is a horizontal mark to compare with (0 for differences, a baseline)."""
    if not any(len(curve.x) for curve in curves):
        raise ParameterError("curves", expected="at least one line with a point", found=[c.name for c in curves])
    with drawing():
        figure, axes = new_axes(title, x=x, y=y, height=HEIGHT + 0.2)
        if level is not None:
            axes.axhline(level, color=MUTED, linewidth=1)
        for number, curve in enumerate(curves):
            colour = PALETTE[number % len(PALETTE)]
            marker = MARKERS[number % len(MARKERS)] if len(curve.x) <= MOST_MARKED_POINTS else ""
            dashes = DASHES[number % len(DASHES)]
            axes.plot(curve.x, curve.y, color=colour, linestyle=dashes, marker=marker, label=words(curve.name))
            if curve.low is not None and curve.high is not None:
                axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.15, linewidth=0)
        legend_below(figure, axes, most=3)
    return Picture(figure, words(title), f"{title}: {'; '.join(map(_said, filter(_has_points, curves)))}.")


def _has_points(curve: Line) -> bool:
    return len(curve.x) > 0


def _said(curve: Line) -> str:
    """A line in words: where it starts, where it ends, and its highest point."""
    top = max(range(len(curve.x)), key=lambda place: curve.y[place])
    start, peak, end = (figure_text(curve.y[place], DIGITS) for place in (0, top, -1))
    return f"{curve.name} goes from {start} to {end}, highest {peak} at {figure_text(curve.x[top], DIGITS)}"


DIFFERENCE_DIGITS = 3
MOST_BARS = 200  # more queries become one outline, because bars would be thinner than a pixel


def differences(values: npt.ArrayLike, *, title: str, y: str, x: str = "queries", better: int = 1) -> Picture:
    """Bars from the best difference to the worst; `better` is -1 where a lower value is better."""
    ordered = np.sort(np.asarray(values, dtype=np.float64) * better)[::-1] * better
    if not len(ordered) or not np.isfinite(ordered).all():
        raise ParameterError("values", expected="a finite difference for every query", found=ordered[:5].tolist())
    good = ordered * better > 0
    with drawing():
        figure, axes = new_axes(title, x=f"{figure_text(len(ordered))} {x}", y=y)
        axes.grid(visible=False, axis="x")
        axes.set_xticks([])
        places = np.arange(len(ordered) + 1) - 0.5
        for chosen, colour in ((good, PALETTE[0]), (~good, PALETTE[1])):
            heights = np.where(chosen, ordered, 0.0)
            if len(ordered) <= MOST_BARS:
                axes.bar(np.arange(len(ordered)), heights, 0.85, color=colour)
            else:
                axes.stairs(heights, places, fill=True, color=colour, linewidth=0)
        axes.axhline(0, color=MUTED, linewidth=1)
        axes.axhline(float(ordered.mean()), color=MUTED, linewidth=1, linestyle="--")
    wins, losses = int(good.sum()), int((ordered * better < 0).sum())
    said = f"{wins} queries are better, {losses} worse, {len(ordered) - wins - losses} the same"
    mean = figure_text(float(ordered.mean()), DIFFERENCE_DIGITS)
    return Picture(figure, words(title), f"{title}: {said}; the mean difference, a dashed line, is {mean}.")
