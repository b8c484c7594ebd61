"""Bringing scores of different rankers to one scale, query by query: BM25 has no upper end, logits no zero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwell.core import ParameterError, Run
from rankwell.core.arrays import Integers
from rankwell.core.scales import Values, of_query, unit

Normaliser = Callable[[Run], Values]


def zscore(run: Run) -> Values:
    """(s - mean) / standard deviation. Where all scores are equal: 0."""
    scores = _scores(run)
    sizes = of_query(np.add, np.ones(len(scores)), run)
    # Scores that are all equal must have no deviation at all, which summing and dividing would not promise.
    differ = of_query(np.maximum, scores, run) > of_query(np.minimum, scores, run)
    centred = scores - of_query(np.add, scores, run) / sizes
    deviation = np.sqrt(of_query(np.add, centred**2, run) / sizes)
    return np.divide(centred, deviation, out=np.zeros(len(scores)), where=differ & (deviation > 0))


def share(run: Run) -> Values:
    """(s - lowest) / sum of (s - lowest): the scores of a query sum to 1. Where all are equal, to equal parts of it."""
    scores = _scores(run)
    above = scores - of_query(np.minimum, scores, run)
    total = of_query(np.add, above, run)
    equal = 1 / of_query(np.add, np.ones(len(scores)), run)
    return np.divide(above, total, out=equal, where=total > 0)


def borda(run: Run) -> Values:
    """By rank alone: (n - rank + 1) / n for n documents, so 1 for the first."""
    sizes = of_query(np.add, np.ones(len(run)), run)
    return (sizes - run.ranks + 1) / sizes


def raw(run: Run) -> Values:
    """The scores as they are."""
    return _scores(run)


NORMALISERS: dict[str, Normaliser] = {
    "unit": unit,
    "zscore": zscore,
    "share": share,
    "borda": borda,
    "none": raw,
}


def normaliser(name: str) -> Normaliser:
    """The normaliser of that name."""
    if name not in NORMALISERS:
        raise ParameterError("normalise", expected=" or ".join(NORMALISERS), found=name)
    return NORMALISERS[name]


def lowest(values: Values, offsets: Integers) -> Values:
    """The lowest value of every query, 0 where it has none."""
    found = np.zeros(len(offsets) - 1)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        found[filled] = np.minimum.reduceat(values, offsets[filled])
    return found


def _scores(run: Run) -> Values:
    return run.scores.astype(np.float64)
