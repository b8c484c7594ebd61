"""Place re-ranked documents on top and the others below in their old order; several depths with one scoring."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rankwell.core import Run
from rankwell.core.arrays import Floats
from rankwell.core.run import Values

STEP = 2.0**-10  # step between two documents that were not scored: small beside any score, visible with four digits
LAST_PLACES = 2.0**-22  # relative step for large scores, which would absorb the other: two units in the last place

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rescored:
    """New scores for some documents of a run: `scores[i]` counts where `chosen[i]`."""

    chosen: Mask
    scores: Values

    @classmethod
    def nothing(cls, run: Run) -> Rescored:
        """No document rescored yet."""
        return cls(np.zeros(len(run), dtype=bool), np.zeros(len(run)))


def placed(run: Run, found: Rescored) -> Run:
    """The run with its rescored documents on top, by their new scores.

    The others follow in their old order, with strictly lower scores. A query without rescored documents is unchanged.
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
    """`count` scores, strictly decreasing and all below `score`, as 32-bit floats."""
    step = max(STEP, abs(float(score)) * LAST_PLACES)
    with np.errstate(over="ignore"):  # an overflow becomes infinite, which a run refuses
        return (float(score) - step * np.arange(1, count + 1)).astype(np.float32)


@dataclass
class Tally:
    """Counts over all runs of a stage."""

    documents: int = 0  # documents with a new score
    pairs: int = 0  # different pairs of query and text
    kept: int = 0  # pairs whose scores were cached
    empty: int = 0  # documents without text, which stay below
    seconds: float = 0.0

    @property
    def scored(self) -> int:
        """Number of pairs that the model scored."""
        return self.pairs - self.kept

    def __str__(self) -> str:
        before = f" ({self.kept:,} scored earlier)" if self.kept else ""
        speed = f", {self.scored / max(self.seconds, 1e-9):,.0f} pairs/s" if self.scored else ""
        return f"{self.documents:,} documents, {self.pairs:,} pairs{before}, {self.seconds:.1f} s{speed}"
