"""Replays as tables, as pictures, and as one page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np

from rankwell.core import Run
from rankwell.evaluate import evaluate
from rankwell.plots import Line, Picture, lines
from rankwell.report import Column, Heading, Note, Page, Part, PicturePart, Table, TablePart, Text
from rankwell.report.table import Cell
from rankwell.reviews.pubmed_ranker import top_share
from rankwell.reviews.screening.effort import Effort
from rankwell.reviews.screening.figures import ALL, POINTS, Figure, Replays, Values
from rankwell.reviews.screening.labelled import judgments_of_reviews
from rankwell.reviews.screening.rankers import by_run
from rankwell.reviews.screening.setting import Setting

FOR_PROGRAMS = ("csv", "json")
DIGITS = 4
ABOUT = (
    "Every start knows one included and one excluded record, drawn by lot; the same starts for all rankers. Records "
    "that were known are not counted. WSS@r: the share of records that need not be looked at to find r of the relevant "
    "ones, less what a random order would save. R@10%: the recall after looking at a tenth of the records. ATD, the "
    "average time to discovery: the mean place of the relevant records as a share of all; lower is better."
)


def figures_table(found: Replays, output: str = "table") -> Table:
    """A row for each review and ranker; for programs a row for each measure, with the ends of its interval."""
    if output in FOR_PROGRAMS:
        return _long_table(found)
    columns = [Column("review", "left"), Column("ranker", "left"), *map(Column, found.measures())]
    rows = [(review, ranker, *map(_said, found.figures(review, ranker).values())) for review, ranker in found.rows()]
    return Table(f"Means over {found.starts:,} starts, with 95 % intervals", columns, rows)


def recall_pictures(found: Replays) -> dict[str, Picture]:
    """The recall curves of each review, and of all together, by name."""
    pictures = {}
    for review in dict.fromkeys(review for review, _ in found.rows()):
        curves = [(ranker, found.curve(review, ranker)) for ranker in found.rankers]
        drawn = [
            Line(name, percent(POINTS), percent(of.mean), percent(of.low), percent(of.high)) for name, of in curves
        ]
        title = f"Recall against effort: {review}"
        pictures[review] = lines(
            drawn, title=title, x="% of records looked at", y="recall, %", level=100 * found.recall
        )
    return pictures


def replays_page(found: Replays, title: str, command: str | None = None, notes: Sequence[str] = ()) -> Page:
    """Table and pictures on one page, the mean of all reviews first."""
    pictures = recall_pictures(found)
    parts: list[Part] = [Heading("What was saved"), Text(ABOUT), *map(Note, notes), TablePart(figures_table(found))]
    parts.append(Heading("Recall against effort"))
    if found.starts > 1:
        parts.append(
            Text("Bands are 95 % intervals of the mean over starts. The horizontal mark is the recall wanted.")
        )
    parts += [PicturePart(pictures[name]) for name in sorted(pictures, key=lambda name: name != ALL)]
    return Page(title, parts, command)


def ranking_table(run: Run, setting: Setting) -> Table:
    """How good a run over the reviews' own records is, before anything was decided: a row.

    For the accuracy the top share that equals the share of included records is labelled 1 (S3 4.2).
    """
    judgments, order = judgments_of_reviews(setting.reviews), by_run(run)
    efforts = [Effort(review.included[np.argsort(-order(review)({}), kind="stable")]) for review in setting.reviews]
    figures: dict[str, float] = {
        "MAP": evaluate(judgments, run, ["AP"]).mean("AP"),
        "accuracy": top_share(run, judgments).accuracy,
        "WSS@95": fmean(effort.wss95 for effort in efforts),
        "WSS@100": fmean(effort.wss100 for effort in efforts),
        "R@10%": fmean(effort.recall_at(0.1) for effort in efforts),
        "ATD": fmean(effort.discovery for effort in efforts),
    }
    columns = [Column("ranker", "left"), Column("split", "left"), Column("reviews")]
    columns += [Column(name, digits=DIGITS) for name in figures]
    row: tuple[Cell, ...] = (run.tag, setting.split, len(setting.reviews), *figures.values())
    return Table("Each review's records, ranked by its title", columns, [row])


def percent(shares: Values) -> list[float]:
    """Shares as a reader takes them."""
    return [100 * share for share in shares.tolist()]


def _said(figure: Figure) -> str:
    half = figure.interval.half_width
    return f"{figure.mean:.3f}" + (f" ±{half:.3f}" if math.isfinite(half) else "")


def _long_table(found: Replays) -> Table:
    columns = [Column(name, "left") for name in ("review", "ranker", "measure")]
    columns += [Column(name, digits=DIGITS) for name in ("mean", "low", "high")] + [Column("starts")]
    rows: list[tuple[Cell, ...]] = [
        (review, ranker, name, figure.mean, *_ends(figure), found.starts)
        for review, ranker in found.rows()
        for name, figure in found.figures(review, ranker).items()
    ]
    return Table(f"Means over {found.starts:,} starts, with 95 % intervals", columns, rows)


def _ends(figure: Figure) -> tuple[float | None, float | None]:
    """No end where one start says nothing about the others."""
    low, high = figure.interval
    return (low, high) if math.isfinite(low) else (None, None)
