"""Pipelines from options: the same words ask for the same ranking in a command, over HTTP and on a page."""

from __future__ import annotations

from rankwell.pipelines.explaining import QID, Explained, Explanation, explained, first_runs
from rankwell.pipelines.options import RankerOptions, RerankOptions, parse_weights

__all__ = [
    "QID",
    "Explained",
    "Explanation",
    "RankerOptions",
    "RerankOptions",
    "explained",
    "first_runs",
    "parse_weights",
]
