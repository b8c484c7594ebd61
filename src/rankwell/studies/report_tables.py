"""The tables of a report: our figures with intervals and marks, and the published ones beside them."""

from __future__ import annotations

from rankwell.report import Column, Table
from rankwell.report.cells import Marked, cell_text
from rankwell.report.table import Cell
from rankwell.studies.figures import Figure, ResultTable
from rankwell.studies.report_parts import ANCHOR

Links = dict[tuple[int, int], str]


def report_table(result: ResultTable) -> tuple[Table, Links]:
    """A table for any output, and which of its cells come from which cell of the study."""
    columns = [Column("row", "left")]
    parts: list[tuple[str, str]] = []  # the column of the result, and which part of its figures
    for name in result.columns:
        figures = [row.figures[name] for row in result.rows if name in row.figures]
        columns.append(Column(name, digits=max((figure.digits for figure in figures), default=4)))
        parts.append((name, "value"))
        if any(figure.low is not None for figure in figures):
            columns.append(Column(f"{name} 95 %", "left"))
            parts.append((name, "interval"))
        if any(figure.published is not None for figure in figures):
            columns.append(Column(f"{name} published", digits=max(f.digits for f in figures)))
            parts.append((name, "published"))
    rows: list[list[Cell]] = []
    links: Links = {}
    for place, row in enumerate(result.rows):
        cells: list[Cell] = [row.name]
        for number, (name, part) in enumerate(parts, 1):
            figure = row.figures.get(name)
            cells.append(None if figure is None else _cell(figure, part, columns[number].digits))
            if figure is not None and figure.cell is not None and part == "value":
                links[place, number] = f"{ANCHOR}{figure.cell}"
        rows.append(cells)
    return Table(f"{result.title}: {result.collection}, {result.queries:,} queries", columns, rows), links


def _cell(figure: Figure, part: str, digits: int | None) -> Cell:
    """A number as its column has it, or with its own digits where others of the column have more."""
    if part == "interval":
        return None if figure.low is None or figure.high is None else f"{figure.low:.3f} to {figure.high:.3f}"
    value, mark = (figure.published, "") if part == "published" else (figure.value, figure.mark)
    if value is None or (not mark and figure.digits == digits):
        return value
    return Marked(cell_text(value, Column("", digits=figure.digits)) + mark, value)
