"""Pipelines from options or a file, and the tuning of any stage's parameters."""

from __future__ import annotations

from rankwell.pipelines.explaining import QID, Explained, Explanation, explained, first_runs
from rankwell.pipelines.options import RankerOptions, RerankOptions, ShownOptions, parse_weights
from rankwell.pipelines.tuning import tune, weight_grid

__all__ = [
    "QID",
    "Explained",
    "Explanation",
    "RankerOptions",
    "RerankOptions",
    "ShownOptions",
    "explained",
    "first_runs",
    "parse_weights",
    "tune",
    "weight_grid",
]
