"""Lines with bands of uncertainty, differences query by query, histograms, and groups of numbers over one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.report.pictures import style
from rankwell.report.pictures.style import Picture, figure_text, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# With more points than this, markers would overlap.
MOST_MARKED_POINTS = 30
LINE_DIGITS = 4


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
    with style.drawing():
        figure, axes = style.new_axes(title, x=x, y=y, height=style.HEIGHT + 0.2)
        if level is not None:
            axes.axhline(level, color=style.MUTED, linewidth=1)
        for number, curve in enumerate(curves):
            colour = style.PALETTE[number % len(style.PALETTE)]
            marker = style.MARKERS[number % len(style.MARKERS)] if len(curve.x) <= MOST_MARKED_POINTS else ""
            dashes = style.DASHES[number % len(style.DASHES)]
            axes.plot(curve.x, curve.y, color=colour, linestyle=dashes, marker=marker, label=words(curve.name))
            if curve.low is not None and curve.high is not None:
                axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.15, linewidth=0)
        style.legend_below(figure, axes, most=3)
    return Picture(figure, words(title), f"{title}: {'; '.join(_said(curve) for curve in curves if len(curve.x))}.")


def _said(curve: Line) -> str:
    """A line in words: where it starts, where it ends, and its highest point."""
    top = max(range(len(curve.x)), key=lambda place: curve.y[place])
    start, peak, end = (figure_text(curve.y[place], LINE_DIGITS) for place in (0, top, -1))
    return f"{curve.name} goes from {start} to {end}, highest {peak} at {figure_text(curve.x[top], LINE_DIGITS)}"


DIFFERENCE_DIGITS = 3
MOST_BARS = 200  # more queries become one outline, because bars would be thinner than a pixel


def differences(values: npt.ArrayLike, *, title: str, y: str, x: str = "queries", better: int = 1) -> Picture:
    """Bars from the best difference to the worst; `better` is -1 where a lower value is better."""
    ordered = np.sort(np.asarray(values, dtype=np.float64) * better)[::-1] * better
    if not len(ordered) or not np.isfinite(ordered).all():
        raise ParameterError("values", expected="a finite difference for every query", found=ordered[:5].tolist())
    good = ordered * better > 0
    with style.drawing():
        figure, axes = style.new_axes(title, x=f"{figure_text(len(ordered))} {x}", y=y)
        axes.grid(visible=False, axis="x")
        axes.set_xticks([])
        places = np.arange(len(ordered) + 1) - 0.5
        for chosen, colour in ((good, style.PALETTE[0]), (~good, style.PALETTE[1])):
            heights = np.where(chosen, ordered, 0.0)
            if len(ordered) <= MOST_BARS:
                axes.bar(np.arange(len(ordered)), heights, 0.85, color=colour)
            else:
                axes.stairs(heights, places, fill=True, color=colour, linewidth=0)
        axes.axhline(0, color=style.MUTED, linewidth=1)
        axes.axhline(float(ordered.mean()), color=style.MUTED, linewidth=1, linestyle="--")
    wins, losses = int(good.sum()), int((ordered * better < 0).sum())
    said = f"{wins} queries are better, {losses} worse, {len(ordered) - wins - losses} the same"
    mean = figure_text(float(ordered.mean()), DIFFERENCE_DIGITS)
    return Picture(figure, words(title), f"{title}: {said}; the mean difference, a dashed line, is {mean}.")


Numbers = npt.NDArray[np.float64]

MOST_BINS = 40
# With a maximum so many times the median, the axis is logarithmic.
SKEWED = 12
# A limit above this many times the longest value is only mentioned in the alternative text.
LIMIT_IN_SIGHT = 1.5


def histogram(
    values: Sequence[float] | npt.NDArray[np.integer | np.floating],
    *,
    title: str,
    x: str,
    y: str = "documents",
    counts: Sequence[int] | npt.NDArray[np.integer] | None = None,
    limit: float | None = None,
    log: bool | None = None,
) -> Picture:
    """How often each value occurs, with the mean and the median marked.

    `counts` says how often each of `values` occurs (default: once). `limit` is marked with
    the share beyond it. `log` puts the values on a logarithmic axis; by default that is done for a long tail.
    """
    numbers, weights = _checked(values, counts)
    mean = float(np.average(numbers, weights=weights))
    median = _median(numbers, weights)
    digits = 3 if numbers[-1] <= 1 else 1  # measures go to 1
    skewed = bool(numbers[0] > 0 and numbers[-1] > SKEWED * median)
    logarithmic = skewed if log is None else log
    if logarithmic and numbers[0] <= 0:
        raise ParameterError("log", expected="values above 0 for a logarithmic axis", found=float(numbers[0]))
    with style.drawing():
        figure, axes = style.new_axes(title, x=x, y=y)
        axes.grid(visible=False, axis="x")
        if logarithmic:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: figure_text(value))
            axes.xaxis.set_minor_formatter(lambda *_: "")
        axes.hist(numbers, bins=_bins(numbers, logarithmic).tolist(), weights=weights, color=style.PALETTE[5])
        style.whole_numbers(axes.yaxis)
        axes.axvline(mean, color=style.INK, label=f"mean {figure_text(mean, digits)}")
        axes.axvline(median, color=style.INK, linestyle="--", label=f"median {figure_text(median, digits)}")
        beyond = _mark_limit(axes, numbers, weights, limit)
        style.legend_below(figure, axes)
    middle, half, largest = (figure_text(value, digits) for value in (mean, median, numbers[-1]))
    said = f"{title}: {figure_text(weights.sum())} {y}, mean {middle}, median {half}, largest {largest} {x}{beyond}."
    return Picture(figure, words(title), said)


def _checked(
    values: Sequence[float] | npt.NDArray[np.integer | np.floating],
    counts: Sequence[int] | npt.NDArray[np.integer] | None,
) -> tuple[Numbers, Numbers]:
    """Values in ascending order and how often each occurs."""
    numbers = np.asarray(values, dtype=np.float64)
    weights = np.ones(len(numbers)) if counts is None else np.asarray(counts, dtype=np.float64)
    if len(weights) != len(numbers):
        raise ParameterError("counts", expected=f"{len(numbers)} counts, one for each value", found=len(weights))
    if not weights.sum() > 0 or not np.isfinite(numbers).all():
        raise ParameterError("values", expected="at least one number, all of them finite", found=list(values)[:5])
    order = np.argsort(numbers, kind="stable")
    return numbers[order], weights[order]


def _median(numbers: Numbers, weights: Numbers) -> float:
    """The weighted median of numbers that occur as often as their weights say."""
    reached = weights.cumsum()
    total = reached[-1]
    low, high = np.searchsorted(reached, [total / 2, total / 2 + 0.5])
    return float(numbers[low] + numbers[min(high, len(numbers) - 1)]) / 2


def _bins(numbers: Numbers, logarithmic: bool) -> Numbers:
    """Edges of bins; whole numbers get bins of whole width, so that all bins hold equally many of them."""
    low, high = float(numbers[0]), float(numbers[-1])
    if logarithmic:
        return np.geomspace(low, max(high, low * 1.1), MOST_BINS + 1)
    if low == high:
        return np.array([low - 0.5, low + 0.5])
    if (numbers == np.floor(numbers)).all():
        width = int(np.ceil((high - low + 1) / MOST_BINS))
        return np.arange(low - 0.5, high + width, width)
    return np.linspace(low, high, MOST_BINS + 1)


def _mark_limit(axes: Axes, numbers: Numbers, weights: Numbers, limit: float | None) -> str:
    """Draw the limit; returns its words for the alternative text."""
    if limit is None:
        return ""
    share = 100 * float(weights[numbers > limit].sum() / weights.sum())
    said = f"{figure_text(share)} % over {figure_text(limit)}" if share else f"none over {figure_text(limit)}"
    if limit > LIMIT_IN_SIGHT * numbers[-1]:
        axes.plot([], [], " ", label=said)
    else:
        axes.axvline(limit, color=style.PALETTE[1], linestyle="-.", label=said)
        end = max(axes.get_xlim()[1], limit)
        axes.axvspan(limit, end, color=style.PALETTE[1], alpha=0.1, linewidth=0, zorder=0)
        axes.set_xlim(right=end)
    return f", {said}"


SPREAD_DIGITS = 2


def spread(groups: Mapping[str, npt.ArrayLike], *, title: str, x: str) -> Picture:
    """The share of each group in each of forty bins; a group without numbers is left out."""
    numbers = {name: np.asarray(values, dtype=np.float64) for name, values in groups.items() if np.size(values)}
    if not numbers:
        raise ParameterError("groups", expected="at least one number", found=list(groups))
    everything = np.concatenate(list(numbers.values()))
    low, high = float(everything.min()), float(everything.max())
    edges = np.linspace(low, high if high > low else low + 1, MOST_BINS + 1)
    with style.drawing():
        figure, axes = style.new_axes(title, x=x, y="share of the group")
        for number, (name, values) in enumerate(numbers.items()):
            shares = np.histogram(values, edges)[0] / len(values)
            colour, dashes = style.PALETTE[number % len(style.PALETTE)], style.DASHES[number % len(style.DASHES)]
            axes.stairs(shares, edges, color=colour, linestyle=dashes, linewidth=1.6, label=words(name))
            axes.stairs(shares, edges, fill=True, color=colour, alpha=0.15, linewidth=0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        style.legend_below(figure, axes)
    medians = "; ".join(
        f"{name} median {figure_text(float(np.median(v)), SPREAD_DIGITS)}" for name, v in numbers.items()
    )
    return Picture(figure, words(title), f"{title}: {medians}.")
