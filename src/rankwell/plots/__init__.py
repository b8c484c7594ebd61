"""Every picture of the product, in one look. Matplotlib is loaded when the first one is drawn, not before."""

from __future__ import annotations

from rankwell.plots.bars import bars, columns, stacked_bars
from rankwell.plots.histogram import histogram
from rankwell.plots.lines import Line, lines
from rankwell.plots.picture import Picture

__all__ = ["Line", "Picture", "bars", "columns", "histogram", "lines", "stacked_bars"]
