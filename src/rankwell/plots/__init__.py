"""Every picture of the product, in one look. Matplotlib is loaded when the first one is drawn, not before."""

from __future__ import annotations

from rankwell.plots.bars import bars, columns, stacked_bars
from rankwell.plots.boxes import boxes
from rankwell.plots.differences import differences
from rankwell.plots.histogram import histogram
from rankwell.plots.lines import Line, lines
from rankwell.plots.picture import Picture
from rankwell.plots.spread import spread

__all__ = ["Line", "Picture", "bars", "boxes", "columns", "differences", "histogram", "lines", "spread", "stacked_bars"]
