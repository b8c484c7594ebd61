"""The people who graded a collection: how many, how much, and how far they agree (S1 4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rankwell.studies.cells import SHORT
from rankwell.studies.drawing import Columns, Drawing
from rankwell.studies.figures import Figure, ResultRow, ResultTable
from rankwell.studies.measured import Measured, blank
from rankwell.studies.study import TableEntry

VALUE = "value"
COUNTS = {
    "assessors": "assessors",
    "queries": "queries assessed",
    "kept": "queries kept",
    "answers": "answers",
    "cannot_tell": "answers that could not tell",
}
PICTURES = {  # what was counted: the title, what is counted, of what
    "queries_per_assessor": ("Queries per assessor", "queries", "assessors"),
    "assessors_per_query": ("Assessors per query", "assessors", "queries"),
    "assessors_per_kept_query": ("Assessors per kept query", "assessors", "queries"),
    "grades": ("Grades that were given", "grade", "answers"),
    "english": ("English levels of the assessors", "level", "assessors"),
}


def assessors_tables(measured: Measured, table: TableEntry) -> list[ResultTable]:
    """A table for each collection with grades of single people."""
    found = []
    for described in measured.plan.described:
        if described.table == table.name:
            told = measured.store.record(described.cell)["people"]
            rows = []
            for name, found_figure in _figures(told):
                published = table.published.get(name, {}).get(VALUE)
                figure = replace(found_figure, cell=described.cell[:SHORT], published=published)
                rows.append(ResultRow(name, "", {VALUE: figure}))
            notes = (*told["warnings"], *(f"{count} queries: {fate}" for fate, count in told["fates"].items()))
            made = blank(table, described.collection.name, told["given"]["kept"])
            found.append(replace(made, columns=(VALUE,), rows=tuple(rows), notes=notes, drawings=tuple(_drawn(told))))
    return found


def _figures(told: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    given = told["given"]
    for key, name in COUNTS.items():
        yield name, Figure(given[key], digits=0)
    if given["queries"] and given["assessors"]:
        both = sum(int(number) * count for number, count in told["assessors_per_query"].items())
        yield "assessors per query", Figure(both / given["queries"], digits=2)
        yield "queries per assessor", Figure(both / given["assessors"], digits=2)
    if told["seconds"] is not None:
        yield "seconds per answer, median", Figure(told["seconds"], digits=1)
    for one in told["agreement"]:
        value = one["value"]
        if value is not None and math.isfinite(value):
            yield f"{one['measure']}: {one['about']}", Figure(value, low=one["low"], high=one["high"], digits=3)


def _drawn(told: Mapping[str, Any]) -> Iterator[Drawing]:
    for key, (title, counted, unit) in PICTURES.items():
        if told[key]:
            counts = {int(number): float(count) for number, count in told[key].items()}
            yield Columns(key.replace("_", "-"), title, counted, unit, counts)
