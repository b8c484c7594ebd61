"""Several groups of numbers over one axis, as outlines of their shares, to see whether they lie apart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.plots.picture import Picture
from rankwell.plots.style import DASHES, PALETTE, drawing, figure_text, legend_below, new_axes, words

BINS = 40
DIGITS = 2


def spread(groups: Mapping[str, npt.ArrayLike], *, title: str, x: str) -> Picture:
    """The share of each group in each of forty bins; a group without numbers is left out."""
    numbers = {name: np.asarray(values, dtype=np.float64) for name, values in groups.items() if np.size(values)}
    if not numbers:
        raise ParameterError("groups", expected="at least one number", found=list(groups))
    everything = np.concatenate(list(numbers.values()))
    low, high = float(everything.min()), float(everything.max())
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    with drawing():
        figure, axes = new_axes(title, x=x, y="share of the group")
        for number, (name, values) in enumerate(numbers.items()):
            shares = np.histogram(values, edges)[0] / len(values)
            colour, dashes = PALETTE[number % len(PALETTE)], DASHES[number % len(DASHES)]
            axes.stairs(shares, edges, color=colour, linestyle=dashes, linewidth=1.6, label=words(name))
            axes.stairs(shares, edges, fill=True, color=colour, alpha=0.15, linewidth=0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        legend_below(figure, axes)
    medians = "; ".join(f"{name} median {figure_text(float(np.median(v)), DIGITS)}" for name, v in numbers.items())
    return Picture(figure, words(title), f"{title}: {medians}.")
