"""Rows compared by measures: means with intervals, differences with marks, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankwell.studies.data import Chosen
from rankwell.studies.drawing import Bars, Curve, Drawing, Lines
from rankwell.studies.figures import Figure, ResultRow, ResultTable
from rankwell.studies.measured import Measured, blank, column_of, figure_of, once
from rankwell.studies.plan import PlannedRow
from rankwell.studies.shares import share_columns, shares_of
from rankwell.studies.speed import SPEED, speed_of
from rankwell.studies.study import TableEntry

MOST_BARS = 24


def comparison_table(measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """A column for each measure."""
    found = measured.compared(table, rows)
    made = []
    names = [column_of(measure) for measure in table.measures]
    for row in rows:
        told = table.published.get(row.row.name, {})
        figures = {}
        for name, measure in zip(names, table.measures, strict=True):
            figure = figure_of(found, row, measured.measure(measure, row), measured.marks(table))
            figures[name] = replace(figure, published=told.get(measure))
        if table.speed:
            speeds = speed_of(measured, row).items()
            figures |= {name: replace(figure, published=told.get(name)) for name, figure in speeds}
        made.append(ResultRow(row.row.name, row.row.line, figures, row.row.values))
    columns = (*names, *(SPEED if table.speed else ()))
    first = made[0]
    if table.share and table.baseline in (None, first.name):  # it may have been left out
        shares = [shares_of(row.figures, first.figures, names[0], first.name) for row in made]
        made = [replace(row, figures={**row.figures, **share}) for row, share in zip(made, shares, strict=True)]
        columns += share_columns(first.name)
    ordered = measured.in_order(table, made)
    notes = list(found.warnings()) + measured.left_out(table, chosen)
    drawings = _over_x(table, ordered, names) if table.x else _bars(table, chosen, ordered, names[0])
    empty = blank(table, chosen.name, found.queries)
    return replace(empty, columns=columns, rows=ordered, notes=once(notes), drawings=tuple(drawings))


def _bars(table: TableEntry, chosen: Chosen, rows: Sequence[ResultRow], measure: str) -> list[Drawing]:
    if not 1 < len(rows) <= MOST_BARS:
        return []
    lengths = {row.name: row.figures[measure].value for row in rows}
    return [Bars(table.name, f"{measure} on {chosen.name}", measure, series={measure: lengths})]


def _over_x(table: TableEntry, rows: Sequence[ResultRow], measures: Sequence[str]) -> list[Drawing]:
    """The first measure over the variable: a line for each combination of the others."""
    assert table.x is not None  # noqa: S101 -- asked for
    lines: dict[str, list[tuple[float, Figure]]] = {}
    for row in rows:
        others = ", ".join(value for name, value in row.values.items() if name != table.x)
        lines.setdefault(others or measures[0], []).append((float(row.values[table.x]), row.figures[measures[0]]))
    curves = []
    for name, points in lines.items():
        points.sort(key=lambda point: point[0])
        banded = all(figure.low is not None and figure.high is not None for _, figure in points)
        curves.append(
            Curve(
                name,
                tuple(x for x, _ in points),
                tuple(figure.value for _, figure in points),
                tuple(figure.low or 0.0 for _, figure in points) if banded else None,
                tuple(figure.high or 0.0 for _, figure in points) if banded else None,
            )
        )
    return [Lines(table.name, f"{measures[0]} by {table.x}", table.x, measures[0], tuple(curves))]
