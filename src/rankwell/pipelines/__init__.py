"""Pipelines from options or a file, and the tuning of any stage's parameters."""

from __future__ import annotations

from rankwell.pipelines.explaining import QID, Explained, Explanation, explained, first_runs
from rankwell.pipelines.file import read_options, write_options
from rankwell.pipelines.options import (
    RankerOptions,
    RerankOptions,
    ShownOptions,
    parse_variant,
    parse_weights,
    pipeline_of,
    read_variants,
)
from rankwell.pipelines.tuning import Tuning, tune, weight_grid

__all__ = [
    "QID",
    "Explained",
    "Explanation",
    "RankerOptions",
    "RerankOptions",
    "ShownOptions",
    "Tuning",
    "explained",
    "first_runs",
    "parse_variant",
    "parse_weights",
    "pipeline_of",
    "read_options",
    "read_variants",
    "tune",
    "weight_grid",
    "write_options",
]
