"""A column for each collection, by one measure."""

from __future__ import annotations

from dataclasses import replace

from rankwell.studies.figures import Figure, ResultRow, ResultTable
from rankwell.studies.measured import Groups, Measured, blank, figure_of, once
from rankwell.studies.study import TableEntry


def over_collections(measured: Measured, table: TableEntry, groups: Groups) -> ResultTable:
    """A column for each collection, by one measure."""
    figures: dict[str, dict[str, Figure]] = {}
    lines: dict[str, str] = {}
    notes: list[str] = []
    queries = 0
    for chosen, rows in groups:
        found = measured.compared(table, rows)
        queries += found.queries
        for row in rows:
            told = table.published.get(row.row.name, {})
            published = next(
                (told[name] for name in chosen.stands_for if name in told and len(chosen.stands_for) == 1), None
            )
            one = figure_of(found, row, table.measures[0], measured.marks(table))
            figures.setdefault(row.row.name, {})[chosen.name] = replace(one, published=published)
            lines[row.row.name] = row.row.line
        notes += [f"{chosen.name} ({found.queries} queries): {note}" for note in found.warnings()]
        notes += measured.left_out(table, chosen)
    made = [ResultRow(name, lines[name], of_row) for name, of_row in figures.items()]
    columns = tuple(chosen.name for chosen, _ in groups)
    title = f"{table.title}: {table.measures[0]}"
    ordered = measured.in_order(table, made)
    empty = blank(table, ", ".join(columns), queries)
    return replace(empty, title=title, columns=columns, rows=ordered, notes=once(notes))
