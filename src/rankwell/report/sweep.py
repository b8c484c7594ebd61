"""The results of a sweep and of tuning, as tables and pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rankwell.evaluation.comparison import BASELINE, Sweep
from rankwell.evaluation.measures import Measure
from rankwell.evaluation.significance import mark
from rankwell.report.comparison import DIGITS
from rankwell.report.html import Heading, Note, Page, Part, PicturePart, TablePart
from rankwell.report.pictures import Line, Picture, lines
from rankwell.report.table import Cell, Column, Table


def sweep_table(found: Sweep, marks: str = "stars") -> Table:
    """A row for every measure and point, the baseline first."""
    level = f"{found.comparison.test.level:.0%} intervals"
    columns = [Column("measure", "left"), Column(found.name), Column("mean", digits=DIGITS)]
    columns += [Column(name, digits=DIGITS) for name in ("difference", "diff. from", "diff. to", "p")]
    columns += [Column("mark", "left")]
    rows: list[list[Cell]] = []
    for measure in found.comparison.measures:
        base = found.comparison.evaluations[BASELINE].mean(measure)
        rows.append([str(measure), None, base, None, None, None, None, ""])
        for point in found.points:
            at = found.difference(point, measure)
            number = int(point) if point == int(point) else point
            mean = found.mean(point, measure)
            ends = (at.interval.low, at.interval.high)
            rows.append([str(measure), number, mean, at.mean, *ends, at.p, mark(marks).of(at.p)])
    return Table(f"By {found.name}; first the baseline; {level}; {found.comparison.queries:,} queries", columns, rows)


def sweep_pictures(found: Sweep) -> dict[str, Picture]:
    """For every measure the difference to the baseline with its band, and all measures' means in one picture."""
    points = list(found.points)
    names = {measure: re.sub(r"[\W_]", "-", str(measure)) for measure in found.comparison.measures}  # of files
    pictures = {f"difference-{name}": _difference(found, measure) for measure, name in names.items()}
    means = [
        Line(str(measure), points, [found.mean(point, measure) for point in points])
        for measure in found.comparison.measures
    ]
    return {**pictures, "means": lines(means, title=f"Means by {found.name}", x=found.name, y="mean")}


def sweep_page(found: Sweep, title: str, command: str | None = None, marks: str = "stars") -> Page:
    """Table and pictures on one page."""
    parts: list[Part] = [
        Heading("What came out"),
        *map(Note, found.warnings()),
        TablePart(sweep_table(found, marks)),
        *map(PicturePart, sweep_pictures(found).values()),
    ]
    return Page(title, parts, command)


def _difference(found: Sweep, measure: Measure) -> Picture:
    points = list(found.points)
    at = [found.difference(point, measure) for point in points]
    level = found.comparison.test.level
    curve = Line(
        f"difference with its {level:.0%} interval",
        points,
        [difference.mean for difference in at],
        [difference.interval.low for difference in at],
        [difference.interval.high for difference in at],
    )
    return lines([curve], title=f"{measure}: difference to the baseline", x=found.name, y=str(measure), level=0)


SHOWN = 20


def tuning_table(rows: Sequence[Mapping[str, Any]], measure: str) -> Table:
    """A row a setting: its parameters, its value on all queries, and the number of folds that selected it."""
    names = list(rows[0])
    best = sorted(rows, key=lambda row: -float(row[measure]))[:SHOWN]
    columns = [Column(name, digits=4 if name == measure else None) for name in names]
    title = f"{len(rows)} settings" + (f", the best {SHOWN}" if len(rows) > SHOWN else "")
    return Table(title, columns, [[_cell(row[name]) for name in names] for row in best])


def _cell(value: Any) -> Cell:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={weight:g}" for name, weight in value.items())
    return value if isinstance(value, (int, float, str)) else str(value)
