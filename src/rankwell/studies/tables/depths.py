"""A depth sweep: what re-ranking the top X gives, for every X."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankwell.core import Judgments
from rankwell.evaluate import compare, parse_measure
from rankwell.evaluate.significance import mark
from rankwell.evaluate.sweep import BASELINE, Sweep, reranked_to
from rankwell.studies.cells import SHORT
from rankwell.studies.data import Chosen
from rankwell.studies.drawing import Curve, Lines
from rankwell.studies.figures import Figure, ResultRow, ResultTable
from rankwell.studies.measured import Measured, blank, once, whole
from rankwell.studies.plan import PlannedRow
from rankwell.studies.study import TableEntry


def depths_table(measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """What re-ranking the top X gives beside the run before it, for every X, with its 95 % interval."""
    judgments = measured.judgments(rows[0], table.part)
    names = [str(parse_measure(measure)) for measure in table.measures]
    made: list[ResultRow] = []
    curves: dict[str, list[Curve]] = {name: [] for name in names}
    notes: list[str] = []
    queries = 0
    for row in rows:
        found = _depths(measured, table, row, judgments)
        queries = found.comparison.queries
        for point in found.points:
            figures = {}
            for name in names:
                at = found.difference(point, name)
                sign = mark(measured.study.marks).of(at.p)
                ends = (at.interval.low, at.interval.high)
                figures[name] = Figure(found.mean(point, name), row.place.key[:SHORT])
                figures[f"{name} difference"] = Figure(
                    at.mean, row.place.key[:SHORT], *ends, difference=at.mean, p=at.p, mark=sign
                )
            made.append(ResultRow(f"{row.row.name}, top {point:g}", row.row.line, figures))
        for name in names:
            at_points = [found.difference(point, name) for point in found.points]
            curves[name].append(
                Curve(
                    row.row.name,
                    tuple(found.points),
                    tuple(at.mean for at in at_points),
                    tuple(at.interval.low for at in at_points),
                    tuple(at.interval.high for at in at_points),
                )
            )
        notes += list(found.warnings())
    drawings = [
        Lines(f"{table.name}-{place}", f"{name}: difference to the run before", "depth", name, tuple(of), level=0.0)
        for place, (name, of) in enumerate(curves.items())
    ]
    columns = tuple(column for name in names for column in (name, f"{name} difference"))
    notes += measured.left_out(table, chosen)
    empty = blank(table, chosen.name, queries)
    told = replace(empty, against="the run before re-ranking", corrected=False)
    return replace(told, columns=columns, rows=tuple(made), notes=once(notes), drawings=tuple(drawings))


def _depths(measured: Measured, table: TableEntry, row: PlannedRow, judgments: Judgments) -> Sweep:
    """Points of one curve are not corrected for their number."""
    assert row.before is not None  # noqa: S101 -- the file was checked for a step that re-ranks
    first, reranked = (whole(place.run(measured.store), judgments) for place in (row.before, row.place))
    longest = max((len(ranking) for _, ranking in first.rankings()), default=1)
    depths = [depth for depth in table.depths if depth <= longest] or [min(table.depths)]
    runs = {f"depth={depth}": reranked_to(first, reranked, depth) for depth in depths}
    found = compare(
        judgments,
        {BASELINE: first, **runs},
        table.measures,
        test=measured.test(),
        correction="none",
        unjudged=table.unjudged,
    )
    return Sweep("depth", found, dict(zip(map(float, depths), runs, strict=True)))
