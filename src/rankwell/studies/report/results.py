"""The tables of a study, made from its finished cells by their kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from rankwell.studies.file.study import (
    ASSESSORS,
    CHOSEN,
    COMPARISON,
    DEPTHS,
    FRONTIER,
    GRADES,
    LABEL_TESTS,
    LABELS,
    PAIRS,
    TableEntry,
)
from rankwell.studies.plan.cells import CellStore
from rankwell.studies.plan.data import Chosen
from rankwell.studies.plan.plan import Plan, PlannedRow
from rankwell.studies.report.figures import ResultTable
from rankwell.studies.report.frontier import quality_and_latency
from rankwell.studies.report.measured import Measured
from rankwell.studies.report.tables.comparison import chosen_tables, comparison_table, depths_table, over_collections
from rankwell.studies.report.tables.data import assessors_tables, grades_table, pairs_tables
from rankwell.studies.report.tables.labels import label_sets_tables, label_tests_tables

Maker = Callable[[Measured, TableEntry], list[ResultTable]]
OfCollection = Callable[[Measured, TableEntry, Chosen, Sequence[PlannedRow]], ResultTable]


def results(plan: Plan, store: CellStore, latency: float | None = None) -> list[ResultTable]:
    """All tables, in the order of the file; `latency` is the budget of a frontier, in milliseconds."""
    measured = Measured(plan, store, latency)
    return [made for table in plan.file.study.table for made in KINDS[table.kind](measured, table)]


def each(make: OfCollection) -> Maker:
    """A maker of one table per collection."""

    def tables(measured: Measured, table: TableEntry) -> list[ResultTable]:
        return [make(measured, table, chosen, rows) for chosen, rows in measured.groups(table)]

    return tables


def comparisons(measured: Measured, table: TableEntry) -> list[ResultTable]:
    """A table for each collection, or one with a column for each."""
    groups = measured.groups(table)
    if table.columns == "collections":
        return [over_collections(measured, table, groups)] if groups else []
    return each(comparison_table)(measured, table)


KINDS: Mapping[str, Maker] = MappingProxyType(
    {
        COMPARISON: comparisons,
        DEPTHS: each(depths_table),
        GRADES: each(grades_table),
        FRONTIER: each(quality_and_latency),
        CHOSEN: chosen_tables,
        LABELS: label_sets_tables,
        LABEL_TESTS: label_tests_tables,
        ASSESSORS: assessors_tables,
        PAIRS: pairs_tables,
    }
)
