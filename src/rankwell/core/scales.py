"""Scores of one query on one scale, because BM25 has no upper end and logits have no zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwell.core.run import Run

Values = npt.NDArray[np.float64]


def sigmoid(logits: npt.NDArray[np.floating[Any]]) -> Values:
    """1 / (1 + e^-x), without an overflow."""
    found: Values = 0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64)))
    return found


def unit(run: Run) -> Values:
    """Min-max: (s - lowest) / (highest - lowest), from 0 to 1. Where all scores are equal, each is the best: 1."""
    scores = run.scores.astype(np.float64)
    lowest, highest = of_query(np.minimum, scores, run), of_query(np.maximum, scores, run)
    return np.divide(scores - lowest, highest - lowest, out=np.ones(len(scores)), where=highest > lowest)


def of_query(combine: np.ufunc, values: Values, run: Run) -> Values:
    """For every document what `combine` makes of all values of its query."""
    sizes = np.diff(run.offsets)
    filled = np.flatnonzero(sizes)  # reduceat has no idea of an empty slice
    if not len(filled):
        return np.zeros(0)
    combined: Values = np.repeat(combine.reduceat(values, run.offsets[filled]), sizes[filled])
    return combined
