"""From runs to tables: each kind of table has a way to be made of the finished cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from rankwell.studies.cells import CellStore
from rankwell.studies.data import Chosen
from rankwell.studies.figures import ResultTable
from rankwell.studies.measured import Measured
from rankwell.studies.plan import Plan, PlannedRow
from rankwell.studies.study import (
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
from rankwell.studies.tables.assessors import assessors_tables
from rankwell.studies.tables.chosen import chosen_tables
from rankwell.studies.tables.comparison import comparison_table
from rankwell.studies.tables.depths import depths_table
from rankwell.studies.tables.frontier import quality_and_latency
from rankwell.studies.tables.grades import grades_table
from rankwell.studies.tables.label_sets import label_sets_tables
from rankwell.studies.tables.label_tests import label_tests_tables
from rankwell.studies.tables.over_collections import over_collections
from rankwell.studies.tables.pairs import pairs_tables

Maker = Callable[[Measured, TableEntry], list[ResultTable]]
OfCollection = Callable[[Measured, TableEntry, Chosen, Sequence[PlannedRow]], ResultTable]


def results(plan: Plan, store: CellStore, latency: float | None = None) -> list[ResultTable]:
    """All tables, in the order of the file; `latency` is the budget of a frontier, in milliseconds."""
    measured = Measured(plan, store, latency)
    return [made for table in plan.file.study.table for made in KINDS[table.kind](measured, table)]


def each(make: OfCollection) -> Maker:
    """A table for each collection."""

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
