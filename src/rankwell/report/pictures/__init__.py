"""All pictures, in one style. Matplotlib is loaded when the first one is drawn."""

from __future__ import annotations

from rankwell.report.pictures.bars import bars, boxes, columns, stacked_bars
from rankwell.report.pictures.curves import Line, differences, histogram, lines, spread
from rankwell.report.pictures.style import Picture

__all__ = [
    "Line",
    "Picture",
    "bars",
    "boxes",
    "columns",
    "differences",
    "histogram",
    "lines",
    "spread",
    "stacked_bars",
]
