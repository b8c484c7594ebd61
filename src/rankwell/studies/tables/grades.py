"""What the top of a ranking is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankwell.evaluate import compare, top_grades
from rankwell.studies.cells import SHORT
from rankwell.studies.data import Chosen
from rankwell.studies.figures import Figure, ResultRow, ResultTable
from rankwell.studies.measured import Measured, blank, whole
from rankwell.studies.plan import PlannedRow
from rankwell.studies.study import TableEntry


def grades_table(measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """What the top k is made of: how many documents of each grade, and how many that nobody judged."""
    judgments = measured.judgments(rows[0], table.part)
    runs = {row.row.name: whole(row.place.run(measured.store), judgments) for row in rows}
    found = compare(judgments, runs, ["Judged@10"], correction="none")
    made = []
    columns: tuple[str, ...] = ()
    for row in rows:
        broken = top_grades(found.judged[row.row.name], table.depth)
        counts = {
            "unjudged": broken.unjudged,
            **{f"grade {grade}": broken.grades[grade] for grade in sorted(broken.grades)},
        }
        columns = tuple(counts)
        told = table.published.get(row.row.name, {})
        cell = row.place.key[:SHORT]
        figures = {name: Figure(n, cell, published=told.get(name), digits=0) for name, n in counts.items()}
        made.append(ResultRow(row.row.name, row.row.line, figures))
    notes = [f"documents in the top {table.depth} of {found.queries} queries", *measured.left_out(table, chosen)]
    empty = blank(table, chosen.name, found.queries)
    return replace(empty, columns=columns, rows=measured.in_order(table, made), notes=tuple(notes))
