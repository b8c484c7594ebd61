"""The tables of a study, made from its finished cells by their kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from rankwell.studies.file import study as file
from rankwell.studies.file.study import TableEntry
from rankwell.studies.plan.cells import CellStore
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.plan.plan import Plan, PlannedRow
from rankwell.studies.report.figures import ResultTable
from rankwell.studies.report.finished import FinishedStudy
from rankwell.studies.report.frontier import quality_and_latency
from rankwell.studies.report.tables.comparison import chosen_tables, comparison_table, depths_table, over_collections
from rankwell.studies.report.tables.descriptions import assessors_tables, grades_table, pairs_tables
from rankwell.studies.report.tables.labels import label_sets_tables, label_tests_tables

Maker = Callable[[FinishedStudy, TableEntry], list[ResultTable]]
OfCollection = Callable[[FinishedStudy, TableEntry, Chosen, Sequence[PlannedRow]], ResultTable]


def results(plan: Plan, store: CellStore, latency: float | None = None) -> list[ResultTable]:
    """All tables, in the order of the file; `latency` is the budget of a frontier, in milliseconds."""
    study = FinishedStudy(plan, store, latency)
    return [made for table in plan.file.study.table for made in KINDS[table.kind](study, table)]


def each(make: OfCollection) -> Maker:
    """A maker of one table per collection."""

    def tables(study: FinishedStudy, table: TableEntry) -> list[ResultTable]:
        return [make(study, table, chosen, rows) for chosen, rows in study.groups(table)]

    return tables


def comparisons(study: FinishedStudy, table: TableEntry) -> list[ResultTable]:
    """A table for each collection, or one with a column for each."""
    groups = study.groups(table)
    if table.columns == "collections":
        return [over_collections(study, table, groups)] if groups else []
    return each(comparison_table)(study, table)


KINDS: Mapping[str, Maker] = MappingProxyType(
    {
        file.COMPARISON: comparisons,
        file.DEPTHS: each(depths_table),
        file.GRADES: each(grades_table),
        file.FRONTIER: each(quality_and_latency),
        file.CHOSEN: chosen_tables,
        file.LABELS: label_sets_tables,
        file.LABEL_TESTS: label_tests_tables,
        file.ASSESSORS: assessors_tables,
        file.PAIRS: pairs_tables,
    }
)
