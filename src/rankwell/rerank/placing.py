"""Documents with new scores above, the others below them in their old order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rankwell.core import Run
from rankwell.core.arrays import Floats
from rankwell.core.scales import Values

STEP = 2.0**-10  # between two documents that were not scored: small beside any score, and seen with four digits
LAST_PLACES = 2.0**-22  # of a large score, beside which that step would be lost: two units in the last place

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rescored:
    """New scores for some documents of a run: `scores[i]` counts where `chosen[i]`."""

    chosen: Mask
    scores: Values

    @classmethod
    def nothing(cls, run: Run) -> Rescored:
        """None yet."""
        return cls(np.zeros(len(run), dtype=bool), np.zeros(len(run)))


def placed(run: Run, found: Rescored) -> Run:
    """The run with its rescored documents in front, by their new scores.

    The others follow in their old order, with scores strictly below. A query without any stays as it is.
    """
    scores = run.scores.copy()
    new = found.scores.astype(np.float32)
    bounds = run.offsets.tolist()
    for start, end in pairwise(bounds):
        chosen = found.chosen[start:end]
        if not chosen.any():
            continue
        of_query = scores[start:end]
        of_query[chosen] = new[start:end][chosen]
        of_query[~chosen] = below(of_query[chosen].min(), int((~chosen).sum()))
    return run.with_scores(scores)


def below(score: np.float32, count: int) -> Floats:
    """So many scores strictly below one and strictly falling, as 32-bit numbers."""
    step = max(STEP, abs(float(score)) * LAST_PLACES)
    with np.errstate(over="ignore"):  # what is too low becomes infinite, which a run refuses
        return (float(score) - step * np.arange(1, count + 1)).astype(np.float32)
