"""Bars, columns, stacked bars and box plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.report.pictures import style
from rankwell.report.pictures.style import Picture, figure_text, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LONGEST_BAR_LABEL = 24
LONGEST_COLUMN_LABEL = 14
# Column labels with more letters in total are rotated.
LETTERS_ABREAST = 45
# The width is that of at least so many columns, so that a single one is not too wide.
FEWEST_COLUMNS = 6
# With more columns than this there is no space for names; with more than the second, none for gaps.
MOST_NAMED_COLUMNS = 12
MOST_SEPARATE_COLUMNS = 80
# Above this many columns neighbours are averaged: a picture has no more pixels.
MOST_COLUMNS = 200


def bars(
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    title: str,
    x: str,
    unit: str = "",
    digits: int = 1,
) -> Picture:
    """Horizontal bars, one group for each label, with the amount written at the end of each bar."""
    amounts = _checked(labels, series)
    thickness = (0.6 if len(amounts) == 1 else 0.8) / len(amounts)
    # Inches for the frame, the bars and the legend.
    height = 0.95 + len(labels) * max(0.32, 0.24 * len(amounts)) + (0.3 if len(amounts) > 1 else 0)
    with style.drawing():
        figure, axes = style.new_axes(title, x=x, height=height)
        axes.grid(visible=False, axis="y")
        places = np.arange(len(labels), dtype=np.float64)
        for number, (name, lengths) in enumerate(amounts.items()):
            offset = (number - (len(amounts) - 1) / 2) * thickness
            rounds, place = divmod(number, len(style.PALETTE))  # after the last colour they repeat with a hatch
            hatch = style.HATCHES[rounds % len(style.HATCHES)]
            fill: Any = {"color": style.PALETTE[place], "hatch": hatch, "edgecolor": "white"}
            drawn = axes.barh(places + offset, lengths, thickness * 0.92, label=words(name), linewidth=0, **fill)
            axes.bar_label(drawn, [figure_text(length, digits) + unit for length in lengths], padding=3, fontsize=8)
        axes.set_yticks(places, [words(label, LONGEST_BAR_LABEL) for label in labels])
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.margins(x=0.16)
        axes.xaxis.set_major_formatter(lambda value, _: figure_text(value, digits))
        style.legend_below(figure, axes)
    return Picture(figure, words(title), _said(title, labels, amounts, unit, digits))


def columns(counts: Mapping[int, float], *, title: str, x: str, y: str = "documents") -> Picture:
    """Vertical bars over whole numbers (years, grades); numbers in between that do not occur leave a gap."""
    if not counts:
        raise ParameterError("counts", expected="at least one number", found="none")
    first, last = min(counts), max(counts)
    most = max(counts, key=lambda number: (counts[number], number))
    with style.drawing():
        figure, axes = style.new_axes(title, x=x, y=y)
        axes.grid(visible=False, axis="x")
        axes.bar(list(counts), list(counts.values()), 0.85, color=style.PALETTE[0])
        style.whole_numbers(axes.xaxis)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")  # years have no thousands separator
        beside = max(0.7, (FEWEST_COLUMNS - (last - first)) / 2)
        axes.set_xlim(max(first - beside, min(first, 0) - 0.7), last + beside)  # no room below 0 for what is counted
        style.whole_numbers(axes.yaxis)
    spread = f"from {first} to {last}, most of them ({figure_text(counts[most])}) at {most}"
    return Picture(figure, words(title), f"{title}: {figure_text(sum(counts.values()))} {y}, {x} {spread}.")


def stacked_bars(
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    title: str,
    x: str,
    y: str,
    apart: str | None = None,
) -> Picture:
    """One column for each label, stacked from the series in their order; hundreds of labels become one outline.

    The colours show the order of the series; the one named `apart` has no place in it and is grey.
    """
    amounts = _checked(labels, series)
    heights = np.stack(list(amounts.values()))
    if len(labels) > MOST_COLUMNS:
        heights = _thinned(heights)
    with style.drawing():
        figure, axes = style.new_axes(title, x=x, y=y, height=style.HEIGHT + 0.3)
        axes.grid(visible=False, axis="x")
        _stack(axes, list(amounts), heights, apart)
        if len(labels) <= MOST_NAMED_COLUMNS:
            shown = [words(label, LONGEST_COLUMN_LABEL) for label in labels]
            upright = sum(map(len, shown)) > LETTERS_ABREAST
            axes.set_xticks(range(len(labels)), shown, rotation=90 if upright else 0)
        else:
            axes.set_xticks([])
        axes.set_xlim(-0.7, heights.shape[1] - 0.3)
        style.whole_numbers(axes.yaxis)
        style.legend_below(figure, axes)
    parts = ", ".join(f"{name} {figure_text(float(of_all.sum()))}" for name, of_all in amounts.items())
    return Picture(figure, words(title), f"{title}: {y} of {figure_text(len(labels))} {x}; in all {parts}.")


def _stack(axes: Axes, names: Sequence[str], heights: npt.NDArray[np.float64], apart: str | None) -> None:
    """Draw the layers bottom up, as bars while there is space between them."""
    places = np.arange(heights.shape[1])
    edges = np.arange(heights.shape[1] + 1) - 0.5
    bottom = np.zeros(heights.shape[1])
    ordered = iter(style.ramp(len([name for name in names if name != apart])))
    for name, layer in zip(names, heights, strict=True):
        colour = style.OUTSIDE if name == apart else next(ordered)
        if heights.shape[1] <= MOST_SEPARATE_COLUMNS:
            axes.bar(places, layer, 0.85, bottom=bottom, color=colour, label=words(name))
        else:
            axes.stairs(bottom + layer, edges, baseline=bottom, fill=True, color=colour, linewidth=0, label=words(name))
        bottom = bottom + layer


def _thinned(heights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """At most `MOST_COLUMNS` columns, each the mean of a run of neighbours."""
    starts = np.linspace(0, heights.shape[1], MOST_COLUMNS, endpoint=False).astype(np.int64)
    sizes = np.diff(np.append(starts, heights.shape[1]))
    return np.add.reduceat(heights, starts, axis=1) / sizes


def _checked(labels: Sequence[str], series: Mapping[str, Sequence[float]]) -> dict[str, npt.NDArray[np.float64]]:
    """The series as arrays, each with one amount for each label."""
    amounts = {name: np.asarray(values, dtype=np.float64) for name, values in series.items()}
    if not labels or not amounts:
        raise ParameterError("series", expected="at least one label and one series", found=list(series))
    for name, values in amounts.items():
        if len(values) != len(labels):
            raise ParameterError(f"series {name}", expected=f"{len(labels)} amounts, one a label", found=len(values))
    return amounts


def _said(
    title: str, labels: Sequence[str], amounts: Mapping[str, npt.NDArray[np.float64]], unit: str, digits: int
) -> str:
    """The bars in words, for the alternative text."""
    groups = []
    for place, label in enumerate(labels):
        values = [f"{figure_text(float(of_all[place]), digits)}{unit}" for of_all in amounts.values()]
        named = [
            f"{value} ({name})" if len(amounts) > 1 else value for value, name in zip(values, amounts, strict=True)
        ]
        groups.append(f"{label} {', '.join(named)}")
    return f"{title}: {'; '.join(groups)}."


LONGEST_NAME = 14


def boxes(groups: Mapping[str, npt.ArrayLike], *, title: str, x: str = "", y: str) -> Picture:
    """One box a group: quartiles and median; whiskers to the last value within 1.5 times the box, dots beyond.

    These are Tukey's ("Exploratory data analysis", 1977). A group without numbers is left out.
    """
    numbers = {name: np.asarray(values, dtype=np.float64) for name, values in groups.items() if np.size(values)}
    if not numbers or not all(np.isfinite(values).all() for values in numbers.values()):
        raise ParameterError("groups", expected="at least one number, all of them finite", found=list(groups))
    line = {"color": style.INK, "linewidth": 1}
    with style.drawing():
        figure, axes = style.new_axes(title, x=x, y=y)
        axes.grid(visible=False, axis="x")
        axes.boxplot(
            list(numbers.values()),
            widths=0.5,
            patch_artist=True,
            boxprops={"facecolor": style.PALETTE[5], "edgecolor": style.INK, "linewidth": 1},
            medianprops={"color": style.INK, "linewidth": 2},
            whiskerprops=line,
            capprops=line,
            flierprops={"marker": "o", "markersize": 3, "markerfacecolor": style.PALETTE[1], "markeredgewidth": 0},
        )
        axes.set_xticks(range(1, len(numbers) + 1), [words(name, LONGEST_NAME) for name in numbers])
        axes.set_ylim(bottom=min(0.0, *(float(values.min()) for values in numbers.values())))
        style.whole_numbers(axes.yaxis)
    said = "; ".join(f"{name} {_box_said(values)}" for name, values in numbers.items())
    return Picture(figure, words(title), f"{title}: {y}; {said}.")


def _box_said(values: npt.NDArray[np.float64]) -> str:
    low, median, high = (figure_text(value) for value in np.quantile(values, [0.25, 0.5, 0.75]))
    ends = f"from {figure_text(float(values.min()))} to {figure_text(float(values.max()))}"
    return f"median {median}, middle half {low} to {high}, {ends}"
