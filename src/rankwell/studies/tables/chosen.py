"""Model selection: the best row of a table by its first measure, and how it does on queries it was not chosen by."""

from __future__ import annotations

from dataclasses import replace

from rankwell.evaluate import parse_measure
from rankwell.studies.figures import ResultTable
from rankwell.studies.measured import Measured, once
from rankwell.studies.plan import PlannedRow
from rankwell.studies.reading import NONE
from rankwell.studies.study import TableEntry
from rankwell.studies.tables.comparison import comparison_table

PUBLISHED = "chosen"  # the row of published figures, whichever row is chosen


def chosen_tables(measured: Measured, table: TableEntry) -> list[ResultTable]:
    """The baseline of the table `of`, and the best of its other rows, for each collection."""
    source = next(other for other in measured.study.table if other.name == table.of)
    return [made for _, rows in measured.groups(source) if (made := _chosen(measured, table, source, rows))]


def _chosen(measured: Measured, table: TableEntry, source: TableEntry, rows: list[PlannedRow]) -> ResultTable | None:
    """None where there is nothing but a baseline."""
    first = 0 if source.baseline == NONE else 1
    if not rows[first:]:
        return None
    best, value, queries = _best(measured, source, rows, first)
    published = {best.row.name: table.published[PUBLISHED]} if PUBLISHED in table.published else {}
    told = replace(
        table,
        measures=table.measures or source.measures,
        unjudged=source.unjudged,
        published={**table.published, **published},
    )
    made = comparison_table(measured, told, best.collection, [*rows[:first], best])
    note = f"{best.row.name} was chosen by {source.measures[0]}: {value:.4f} on {queries} queries ({source.part})"
    return replace(made, notes=once([note, *made.notes]))


def _best(measured: Measured, source: TableEntry, rows: list[PlannedRow], first: int) -> tuple[PlannedRow, float, int]:
    """The row, from the first that may be chosen, that is best by the first measure; of equal ones the one above."""
    compared = measured.compared(source, rows)
    measure = measured.measure(source.measures[0], rows[0])
    sign = 1 if parse_measure(measure).higher_is_better else -1
    means = {row.row.name: compared.evaluations[row.row.name].mean(measure) for row in rows}
    best = max(rows[first:], key=lambda row: sign * means[row.row.name])
    return best, means[best.row.name], compared.queries
