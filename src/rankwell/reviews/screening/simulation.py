"""Replaying a review whose answers are known: how soon a ranking would have found what was included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.core.errors import Phrase
from rankwell.reviews.screening.effort import Effort
from rankwell.reviews.screening.labelled import Labelled
from rankwell.reviews.screening.learner import Scores
from rankwell.reviews.screening.rankers import Scorer
from rankwell.reviews.screening.setting import FEWEST_INCLUDED

AGAIN = 0.02  # learn anew when there are this many more decisions than before, as a share of them


@dataclass(frozen=True, eq=False)
class Simulation:
    """One replay: what was known at its start, and the order in which the others were looked at.

    The last `len(order) - looked` records were never looked at, since everything was found before.
    """

    review: Labelled
    known: tuple[int, ...]
    order: npt.NDArray[np.int64]
    looked: int

    @property
    def effort(self) -> Effort:
        """What it saved."""
        return Effort(self.review.included[self.order])


def starts(review: Labelled, count: int, seed: int = 0) -> Iterator[tuple[int, ...]]:
    """What a reviewer may know at first: one included and one excluded record, drawn anew for every start."""
    if count < 1:
        raise ParameterError("starts", expected="a number from 1", found=count)
    included, excluded = np.flatnonzero(review.included), np.flatnonzero(~review.included)
    if len(included) < FEWEST_INCLUDED:
        found = Phrase(f"{len(included)}")
        raise ParameterError(review.name, expected="two included records or more to start from one", found=found)
    for number in range(count):
        draw = np.random.default_rng([seed, number])
        yield int(draw.choice(included)), int(draw.choice(excluded))


def simulate(review: Labelled, scores: Scorer, known: Sequence[int] = (), again: float = AGAIN) -> Simulation:
    """Look at the best record, learn from the answer, and so on until every included record is found.

    It is learned anew whenever the decisions have grown by the share `again` (0: after every decision); in between the
    order of the last time holds. What was never looked at stands at the end, in the order of the last ranking.
    """
    if not 0 <= again <= 1:
        raise ParameterError("again", expected="a share from 0 to 1", found=again)
    decisions = {place: bool(review.included[place]) for place in known}
    left = int(review.included.sum()) - sum(decisions.values())
    if not left:
        raise ParameterError("known", expected="an included record or more left to find", found=list(known))
    order: list[int] = []
    ranked = np.zeros(0, dtype=np.int64)
    while left:
        ranked = _ranked(scores(decisions), decisions)
        for place in ranked[: max(1, int(len(decisions) * again))].tolist():
            decisions[place] = bool(review.included[place])
            order.append(place)
            left -= decisions[place]
            if not left:
                break
    looked = len(order)
    order += [place for place in ranked.tolist() if place not in decisions]
    return Simulation(review, tuple(known), np.array(order, dtype=np.int64), looked)


def _ranked(scores: Scores, decisions: Mapping[int, bool]) -> npt.NDArray[np.int64]:
    """The records without a decision, best first; equal ones in the order of the list."""
    undecided = np.ones(len(scores), dtype=bool)
    undecided[list(decisions)] = False
    places = np.flatnonzero(undecided)
    return places[np.argsort(-scores[places], kind="stable")]
