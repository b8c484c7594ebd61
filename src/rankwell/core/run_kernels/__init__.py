"""The compiled loops over the lines of runs: order, write, read, look up. They are loaded for large runs only.

All take texts as three arrays: a buffer of bytes, and the first byte and the number of bytes of each text.
"""

from __future__ import annotations

from rankwell.core.run_kernels.formatting import format_lines
from rankwell.core.run_kernels.order import settle, unsettled
from rankwell.core.run_kernels.parsing import parse_lines
from rankwell.core.run_kernels.sets import mark_judged, mark_repeated

__all__ = ["format_lines", "mark_judged", "mark_repeated", "parse_lines", "settle", "unsettled"]
