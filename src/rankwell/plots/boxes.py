"""Box plots: where the middle half of a group of numbers lies, and how far the others reach."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.plots.picture import Picture
from rankwell.plots.style import INK, PALETTE, drawing, figure_text, new_axes, whole_numbers, words

LONGEST_NAME = 14


def boxes(groups: Mapping[str, npt.ArrayLike], *, title: str, x: str = "", y: str) -> Picture:
    """One box a group: quartiles and median; whiskers to the last value within 1.5 times the box, dots beyond.

    These are Tukey's ("Exploratory data analysis", 1977). A group without numbers is left out.
    """
    numbers = {name: np.asarray(values, dtype=np.float64) for name, values in groups.items() if np.size(values)}
    if not numbers or not all(np.isfinite(values).all() for values in numbers.values()):
        raise ParameterError("groups", expected="at least one number, all of them finite", found=list(groups))
    line = {"color": INK, "linewidth": 1}
    with drawing():
        figure, axes = new_axes(title, x=x, y=y)
        axes.grid(visible=False, axis="x")
        axes.boxplot(
            list(numbers.values()),
            widths=0.5,
            patch_artist=True,
            boxprops={"facecolor": PALETTE[5], "edgecolor": INK, "linewidth": 1},
            medianprops={"color": INK, "linewidth": 2},
            whiskerprops=line,
            capprops=line,
            flierprops={"marker": "o", "markersize": 3, "markerfacecolor": PALETTE[1], "markeredgewidth": 0},
        )
        axes.set_xticks(range(1, len(numbers) + 1), [words(name, LONGEST_NAME) for name in numbers])
        axes.set_ylim(bottom=min(0.0, *(float(values.min()) for values in numbers.values())))
        whole_numbers(axes.yaxis)
    said = "; ".join(f"{name} {_said(values)}" for name, values in numbers.items())
    return Picture(figure, words(title), f"{title}: {y}; {said}.")


def _said(values: npt.NDArray[np.float64]) -> str:
    low, median, high = (figure_text(value) for value in np.quantile(values, [0.25, 0.5, 0.75]))
    ends = f"from {figure_text(float(values.min()))} to {figure_text(float(values.max()))}"
    return f"median {median}, middle half {low} to {high}, {ends}"
