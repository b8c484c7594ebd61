"""The results of a sweep and of tuning, as tables and pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rankwell.evaluation.measures import Measure, parse_measure
from rankwell.evaluation.significance import mark
from rankwell.evaluation.sweeps import BASELINE, Sweep
from rankwell.report.comparison import DIGITS
from rankwell.report.html import Heading, Note, Page, Part, PicturePart, TablePart
from rankwell.report.pictures import Line, Picture, lines
from rankwell.report.table import Cell, Column, Table


def sweep_table(sweep: Sweep, marks: str = "stars") -> Table:
    """A row for every measure and point, the baseline first."""
    level = f"{sweep.comparison.test.level:.0%} intervals"
    columns = [Column("measure", "left"), Column(sweep.name), Column("mean", digits=DIGITS)]
    columns += [Column(name, digits=DIGITS) for name in ("difference", "diff. from", "diff. to", "p")]
    columns += [Column("mark", "left")]
    rows: list[list[Cell]] = []
    for measure in sweep.comparison.measures:
        base = sweep.comparison.evaluations[BASELINE].mean(measure)
        rows.append([str(measure), None, base, None, None, None, None, ""])
        for point in sweep.points:
            at = sweep.difference(point, measure)
            number = int(point) if point == int(point) else point
            mean = sweep.mean(point, measure)
            ends = (at.interval.low, at.interval.high)
            rows.append([str(measure), number, mean, at.mean, *ends, at.p, mark(marks).of(at.p)])
    return Table(f"By {sweep.name}; first the baseline; {level}; {sweep.comparison.queries:,} queries", columns, rows)


def sweep_pictures(sweep: Sweep) -> dict[str, Picture]:
    """For every measure the difference to the baseline with its band, and all measures' means in one picture."""
    points = list(sweep.points)
    names = {measure: re.sub(r"[\W_]", "-", str(measure)) for measure in sweep.comparison.measures}  # of files
    pictures = {f"difference-{name}": _difference(sweep, measure) for measure, name in names.items()}
    means = [
        Line(str(measure), points, [sweep.mean(point, measure) for point in points])
        for measure in sweep.comparison.measures
    ]
    return {**pictures, "means": lines(means, title=f"Means by {sweep.name}", x=sweep.name, y="mean")}


def sweep_page(sweep: Sweep, title: str, command: str | None = None, marks: str = "stars") -> Page:
    """Table and pictures on one page."""
    parts: list[Part] = [
        Heading("What came out"),
        *map(Note, sweep.warnings()),
        TablePart(sweep_table(sweep, marks)),
        *map(PicturePart, sweep_pictures(sweep).values()),
    ]
    return Page(title, parts, command)


def _difference(sweep: Sweep, measure: Measure) -> Picture:
    points = list(sweep.points)
    at = [sweep.difference(point, measure) for point in points]
    level = sweep.comparison.test.level
    curve = Line(
        f"difference with its {level:.0%} interval",
        points,
        [difference.mean for difference in at],
        [difference.interval.low for difference in at],
        [difference.interval.high for difference in at],
    )
    return lines([curve], title=f"{measure}: difference to the baseline", x=sweep.name, y=str(measure), level=0)


SHOWN = 20


def tuning_table(rows: Sequence[Mapping[str, Any]], measure: str) -> Table:
    """A row a setting: its parameters, its value on all queries, and the number of folds that selected it."""
    names = list(rows[0])
    best = sorted(rows, key=lambda row: float(row[measure]), reverse=parse_measure(measure).higher_is_better)[:SHOWN]
    columns = [Column(name, digits=4 if name == measure else None) for name in names]
    title = f"{len(rows)} settings" + (f", the best {SHOWN}" if len(rows) > SHOWN else "")
    return Table(title, columns, [[_cell(row[name]) for name in names] for row in best])


def _cell(value: Any) -> Cell:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={weight:g}" for name, weight in value.items())
    return value if isinstance(value, (int, float, str)) else str(value)
