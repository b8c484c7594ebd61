"""Results of simulations with confidence intervals, as tables, pictures and a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import SILENT, ParameterError, Progress, Run
from rankwell.evaluation import evaluate
from rankwell.evaluation.significance import Interval, t_interval
from rankwell.report import Column, Heading, Note, Page, Part, PicturePart, Table, TablePart, Text
from rankwell.report.pictures import Line, Picture, lines
from rankwell.report.table import Cell
from rankwell.reviews.pubmed.client import top_share
from rankwell.reviews.screening.effort import AGAIN, Effort, check_recall, recall_curve, simulate, starts
from rankwell.reviews.screening.labelled import LabelledReview, Setting, judgments_of_reviews
from rankwell.reviews.screening.rankers import Ranker, by_run

ALL = "mean of all reviews"
LEVEL = 0.95
POINTS = np.linspace(0, 1, 101)

Values = npt.NDArray[np.float64]


class Figure(NamedTuple):
    """A mean over starts with its 95 % confidence interval."""

    mean: float
    interval: Interval


class RecallCurve(NamedTuple):
    """The recall at each of `POINTS` (shares of screened records) with its confidence band."""

    mean: Values
    low: Values
    high: Values


@dataclass(frozen=True)
class Replays:
    """The simulated efforts by review and ranker, one per start; start i is the same for all rankers."""

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
        """Number of starts of every ranker and review."""
        return len(next(iter(self.efforts.values())))

    def measures(self) -> dict[str, Callable[[Effort], float]]:
        """The measures by name."""
        return {
            f"WSS@{100 * self.recall:g}": lambda effort: effort.wss(self.recall),
            "WSS@100": lambda effort: effort.wss(1),
            "R@10%": lambda effort: effort.recall_at(0.1),
            "R@20%": lambda effort: effort.recall_at(0.2),
            "ATD": lambda effort: effort.discovery,
        }

    def figures(self, review: str, ranker: str) -> dict[str, Figure]:
        """All measures of a ranker on a review, or on `ALL`: the mean over reviews, start by start."""
        values = {name: self._by_start(review, ranker, of) for name, of in self.measures().items()}
        return {name: Figure(float(of.mean()), t_interval(of, LEVEL)) for name, of in values.items()}

    def rows(self) -> Iterator[tuple[str, str]]:
        """Pairs of review and ranker; `ALL` last where there are several reviews."""
        names = (*self.reviews, ALL) if len(self.reviews) > 1 else self.reviews
        return ((review, ranker) for review in names for ranker in self.rankers)

    def curve(self, review: str, ranker: str) -> RecallCurve:
        """Recall against effort, averaged over starts (and reviews)."""
        curves = self._by_start(review, ranker, recall_at_points)
        intervals = [t_interval(column) if len(column) > 1 else Interval(column[0], column[0]) for column in curves.T]
        low, high = np.clip(np.array(intervals).T, 0, 1)
        return RecallCurve(curves.mean(axis=0), low, high)

    def _by_start(self, review: str, ranker: str, of: Callable[[Effort], float | Values]) -> Values:
        names = self.reviews if review == ALL and ALL not in self.reviews else (review,)
        values = np.array([[of(effort) for effort in self.efforts[name, ranker]] for name in names], dtype=np.float64)
        return np.asarray(values.mean(axis=0), dtype=np.float64)


def replay(
    reviews: Sequence[LabelledReview],
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
    """The recall curve at `POINTS`: a share between two records counts the records before it."""
    return recall_curve(effort.labels)[np.floor(POINTS * len(effort.labels) + 1e-9).astype(np.int64)]


FOR_PROGRAMS = ("csv", "json")
DIGITS = 4
ABOUT = (
    "Every start knows one included and one excluded record, drawn by lot; the same starts for all rankers. Records "
    "that were known are not counted. WSS@r: the share of records that need not be looked at to find r of the relevant "
    "ones, less what a random order would save. R@10%: the recall after looking at a tenth of the records. ATD, the "
    "average time to discovery: the mean place of the relevant records as a share of all; lower is better."
)


def figures_table(replays: Replays, output: str = "table") -> Table:
    """A row per review and ranker; for csv and json a row per measure, with its interval."""
    if output in FOR_PROGRAMS:
        return _long_table(replays)
    columns = [Column("review", "left"), Column("ranker", "left"), *map(Column, replays.measures())]
    rows = [
        (review, ranker, *map(_said, replays.figures(review, ranker).values())) for review, ranker in replays.rows()
    ]
    return Table(f"Means over {replays.starts:,} starts, with 95 % intervals", columns, rows)


def recall_pictures(replays: Replays) -> dict[str, Picture]:
    """The recall curves of each review, and of all together, by name."""
    pictures = {}
    axes = {"x": "% of records looked at", "y": "recall, %"}
    for review in dict.fromkeys(review for review, _ in replays.rows()):
        curves = [(ranker, replays.curve(review, ranker)) for ranker in replays.rankers]
        drawn = [Line(name, *((100 * part).tolist() for part in (POINTS, *curve))) for name, curve in curves]
        title = f"Recall against effort: {review}"
        pictures[review] = lines(drawn, title=title, level=100 * replays.recall, **axes)
    return pictures


def replays_page(replays: Replays, title: str, command: str | None = None, notes: Sequence[str] = ()) -> Page:
    """Table and pictures on one page, the mean of all reviews first."""
    pictures = recall_pictures(replays)
    parts: list[Part] = [Heading("What was saved"), Text(ABOUT), *map(Note, notes), TablePart(figures_table(replays))]
    parts.append(Heading("Recall against effort"))
    if replays.starts > 1:
        parts.append(
            Text("Bands are 95 % intervals of the mean over starts. The horizontal mark is the recall wanted.")
        )
    parts += [PicturePart(pictures[name]) for name in sorted(pictures, key=lambda name: name != ALL)]
    return Page(title, parts, command)


def ranking_table(run: Run, setting: Setting) -> Table:
    """Measures of a run over the reviews' own records, before any decision, in one row.

    For the accuracy the top is labelled 1, as large a share as that of included records (systematic-review study, 4.2).
    """
    judgments, order = judgments_of_reviews(setting.reviews), by_run(run)
    efforts = [Effort(review.included[np.argsort(-order(review)({}), kind="stable")]) for review in setting.reviews]
    figures: dict[str, float] = {
        "MAP": evaluate(judgments, run, ["AP"]).mean("AP"),
        "accuracy": top_share(run, judgments).accuracy,
        "WSS@95": fmean(effort.wss(0.95) for effort in efforts),
        "WSS@100": fmean(effort.wss(1) for effort in efforts),
        "R@10%": fmean(effort.recall_at(0.1) for effort in efforts),
        "ATD": fmean(effort.discovery for effort in efforts),
    }
    columns = [Column("ranker", "left"), Column("split", "left"), Column("reviews")]
    columns += [Column(name, digits=DIGITS) for name in figures]
    row: tuple[Cell, ...] = (run.tag, setting.split, len(setting.reviews), *figures.values())
    return Table("Each review's records, ranked by its title", columns, [row])


def _said(figure: Figure) -> str:
    half = figure.interval.half_width
    return f"{figure.mean:.3f}" + (f" ±{half:.3f}" if math.isfinite(half) else "")


def _long_table(replays: Replays) -> Table:
    columns = [Column(name, "left") for name in ("review", "ranker", "measure")]
    columns += [Column(name, digits=DIGITS) for name in ("mean", "low", "high")] + [Column("starts")]
    rows: list[tuple[Cell, ...]] = []
    for review, ranker in replays.rows():
        for name, figure in replays.figures(review, ranker).items():
            ends = [end if math.isfinite(end) else None for end in figure.interval]  # none for a single start
            rows.append((review, ranker, name, figure.mean, *ends, replays.starts))
    return Table(f"Means over {replays.starts:,} starts, with 95 % intervals", columns, rows)
