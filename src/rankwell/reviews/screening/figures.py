"""What replays say: for every review and ranker the mean over starts, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.core.progress import SILENT, Progress
from rankwell.evaluate.significance.interval import Interval, t_interval
from rankwell.reviews.screening.effort import Effort, check_recall, recall_curve
from rankwell.reviews.screening.labelled import Labelled
from rankwell.reviews.screening.rankers import Ranker
from rankwell.reviews.screening.simulation import AGAIN, simulate, starts

ALL = "mean of all reviews"
LEVEL = 0.95
POINTS = np.linspace(0, 1, 101)

Values = npt.NDArray[np.float64]


class Figure(NamedTuple):
    """A mean over starts, and the interval in which it lies with 95 % confidence."""

    mean: float
    interval: Interval


class Curve(NamedTuple):
    """The recall at each of `POINTS`, shares of the records that were looked at, with its band."""

    mean: Values
    low: Values
    high: Values


@dataclass(frozen=True)
class Replays:
    """The efforts of every review and ranker, one for each start; start i is the same for all rankers."""

    efforts: Mapping[tuple[str, str], Sequence[Effort]] = field(repr=False)
    recall: float = 0.95

    def __post_init__(self) -> None:
        check_recall(self.recall)
        if not self.efforts or len({len(of) for of in self.efforts.values()}) > 1:
            expected = "a review or more with as many efforts for every ranker"
            raise ParameterError("efforts", expected=expected, found=sorted(self.efforts))

    @property
    def reviews(self) -> tuple[str, ...]:
        """The reviews, in the order in which they were replayed."""
        return tuple(dict.fromkeys(review for review, _ in self.efforts))

    @property
    def rankers(self) -> tuple[str, ...]:
        """The rankers, in the order in which they were asked for."""
        return tuple(dict.fromkeys(ranker for _, ranker in self.efforts))

    @property
    def starts(self) -> int:
        """How many starts every ranker had for every review."""
        return len(next(iter(self.efforts.values())))

    def measures(self) -> dict[str, Callable[[Effort], float]]:
        """What is measured, by name."""
        measures: dict[str, Callable[[Effort], float]] = {
            f"WSS@{100 * self.recall:g}": lambda effort: effort.wss(self.recall),
            "WSS@100": lambda effort: effort.wss100,
            "R@10%": lambda effort: effort.recall_at(0.1),
            "R@20%": lambda effort: effort.recall_at(0.2),
            "ATD": lambda effort: effort.discovery,
        }
        return measures

    def figures(self, review: str, ranker: str) -> dict[str, Figure]:
        """Every measure of a ranker on a review, or on `ALL`: the mean over reviews, start by start."""
        return {name: self._figure(review, ranker, of) for name, of in self.measures().items()}

    def rows(self) -> Iterator[tuple[str, str]]:
        """Reviews with rankers; where there is more than one review, `ALL` last."""
        names = (*self.reviews, ALL) if len(self.reviews) > 1 else self.reviews
        return ((review, ranker) for review in names for ranker in self.rankers)

    def curve(self, review: str, ranker: str) -> Curve:
        """The recall against effort, averaged over starts (and reviews)."""
        curves = self._by_start(review, ranker, recall_at_points)
        intervals = [t_interval(column) if len(column) > 1 else Interval(column[0], column[0]) for column in curves.T]
        low, high = np.clip(np.array(intervals).T, 0, 1)
        return Curve(curves.mean(axis=0), low, high)

    def _figure(self, review: str, ranker: str, measure: Callable[[Effort], float]) -> Figure:
        values = self._by_start(review, ranker, measure)
        return Figure(float(values.mean()), t_interval(values, LEVEL))

    def _by_start(self, review: str, ranker: str, of: Callable[[Effort], float | Values]) -> Values:
        names = self.reviews if review == ALL and ALL not in self.reviews else (review,)
        values = np.array([[of(effort) for effort in self.efforts[name, ranker]] for name in names], dtype=np.float64)
        return np.asarray(values.mean(axis=0), dtype=np.float64)


def replay(
    reviews: Sequence[Labelled],
    rankers: Mapping[str, Ranker],
    *,
    count: int = 10,
    seed: int = 0,
    again: float = AGAIN,
    recall: float = 0.95,
    progress: Progress = SILENT,
) -> Replays:
    """Replay every review with every ranker from the same starts."""
    check_recall(recall)
    efforts: dict[tuple[str, str], list[Effort]] = {}
    known = {review.name: list(starts(review, count, seed)) for review in reviews}
    for review in reviews:
        for name, ranker in rankers.items():
            scores = ranker(review)
            done = efforts.setdefault((review.name, name), [])
            for start in known[review.name]:
                done.append(simulate(review, scores, start, again).effort)
                progress.advance()
    return Replays(efforts, recall)


def recall_at_points(effort: Effort) -> Values:
    """The recall curve on a common scale: a share that falls between two records counts the records it has passed."""
    curve = recall_curve(effort.labels)
    return curve[np.floor(POINTS * len(effort.labels) + 1e-9).astype(np.int64)]
