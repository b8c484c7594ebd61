"""The frontier as a table of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankwell.evaluate import parse_measure
from rankwell.studies.data import Chosen
from rankwell.studies.figures import ResultTable
from rankwell.studies.frontier import frontier_table
from rankwell.studies.measured import Measured, blank, figure_of, once
from rankwell.studies.plan import PlannedRow
from rankwell.studies.speed import size_of, trained_folder
from rankwell.studies.steps import Chain
from rankwell.studies.study import TableEntry


def quality_and_latency(
    measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]
) -> ResultTable:
    """Quality beside latency for every row, and what to serve."""
    found = measured.compared(table, rows)
    name = str(parse_measure(table.measures[0]))
    quality = {
        row.row.name: {name: figure_of(found, row, name, measured.marks(table)), **size_of(measured, row)}
        for row in rows
    }
    served = [replace(row, chain=_with_folders(measured, row)) for row in rows]
    told = frontier_table(served, quality, measured.store, name, measured.latency)
    notes = [*told.notes, *found.warnings(), *measured.left_out(table, chosen)]
    ordered = measured.in_order(table, told.rows)
    empty = blank(table, chosen.name, found.queries)
    made = replace(empty, columns=told.columns, rows=ordered, notes=once(notes))
    return replace(made, drawings=told.drawings, advice=told.advice)


def _with_folders(measured: Measured, row: PlannedRow) -> Chain:
    """The row's line with folders in place of the names of models that the study trained: others know only these."""
    steps = []
    for step in row.chain:
        folder = trained_folder(measured, row, str(step.settings.get("model")))
        steps.append(replace(step, settings={**step.settings, "model": str(folder)}) if folder else step)
    return tuple(steps)
