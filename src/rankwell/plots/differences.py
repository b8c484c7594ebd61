"""Query by query: how much better or worse one system is, the differences in order as a row of bars."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.plots.picture import Picture
from rankwell.plots.style import MUTED, PALETTE, drawing, figure_text, new_axes, words

DIGITS = 3
MOST_BARS = 200  # more queries become one outline: bars thinner than a pixel cannot be seen


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
    mean = figure_text(float(ordered.mean()), DIGITS)
    return Picture(figure, words(title), f"{title}: {said}; the mean difference, a dashed line, is {mean}.")
