"""Choosing the parameters of any stage by cross-validation over queries."""

from __future__ import annotations

from rankwell.tune.cache import ResultFolder
from rankwell.tune.folds import Fold, split
from rankwell.tune.grid import settings_of, weight_grid
from rankwell.tune.tuning import Choice, Trial, Tuning, tune

__all__ = [
    "Choice",
    "Fold",
    "ResultFolder",
    "Trial",
    "Tuning",
    "settings_of",
    "split",
    "tune",
    "weight_grid",
]
