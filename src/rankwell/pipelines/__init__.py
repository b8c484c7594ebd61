"""Pipelines from options or a file, and the tuning of any stage's parameters."""

from __future__ import annotations

from rankwell.pipelines.explaining import QID, Explained, Explanation, explained, first_runs
from rankwell.pipelines.options import RankerOptions, RerankOptions, ShownOptions, parse_weights
from rankwell.pipelines.tuning import Choice, Fold, ResultFolder, Trial, Tuning, settings_of, split, tune, weight_grid

__all__ = [
    "QID",
    "Choice",
    "Explained",
    "Explanation",
    "Fold",
    "RankerOptions",
    "RerankOptions",
    "ResultFolder",
    "ShownOptions",
    "Trial",
    "Tuning",
    "explained",
    "first_runs",
    "parse_weights",
    "settings_of",
    "split",
    "tune",
    "weight_grid",
]
