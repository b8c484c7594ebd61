"""Tables about data: assessors, judged pairs, the grades in the top of a ranking."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rankwell.evaluation import compare, top_grades
from rankwell.studies.file.study import TableEntry
from rankwell.studies.plan.cells import SHORT
from rankwell.studies.plan.data import Chosen
from rankwell.studies.plan.plan import PlannedRow
from rankwell.studies.report.figures import Bars, Drawing, Figure, FigureColumns, Histogram, ResultRow, ResultTable
from rankwell.studies.report.measured import Measured, blank, whole

VALUE = "value"
COUNTS = {
    "assessors": "assessors",
    "queries": "queries assessed",
    "kept": "queries kept",
    "answers": "answers",
    "cannot_tell": "answers that could not tell",
}
PICTURES = {  # statistic: title, labels of the axes
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
            for name, found_figure in _assessor_figures(told):
                published = table.published.get(name, {}).get(VALUE)
                figure = replace(found_figure, cell=described.cell[:SHORT], published=published)
                rows.append(ResultRow(name, "", {VALUE: figure}))
            notes = (*told["warnings"], *(f"{count} queries: {fate}" for fate, count in told["fates"].items()))
            made = blank(table, described.collection.name, told["given"]["kept"])
            found.append(replace(made, columns=(VALUE,), rows=tuple(rows), notes=notes, drawings=tuple(_drawn(told))))
    return found


def _assessor_figures(told: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
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
            yield FigureColumns(key.replace("_", "-"), title, counted, unit, counts)


COUNT, MEAN, MEDIAN, LARGEST, OVER, SHARE = ("count", "mean", "median", "largest", "% over {limit}", "% of pairs")
DIGITS = {COUNT: 0, LARGEST: 0}
NO_TOKENS = "tokens are not counted, because no model with a tokenizer is here: rankwell models add minilm-l6"


def pairs_tables(measured: Measured, table: TableEntry) -> list[ResultTable]:
    """A table of judged pairs for each collection."""
    found = []
    for described in measured.plan.described:
        if described.table == table.name:
            told = measured.store.record(described.cell)["statistics"]
            rows = tuple(_row(table, described.cell, name, figures) for name, figures in _pair_figures(told))
            columns = [COUNT, SHARE, MEAN, MEDIAN, LARGEST, _over(told)]
            used = tuple(column for column in columns if any(column in row.figures for row in rows))
            made = blank(table, described.collection.name, told["reviews"])
            notes = () if told["tokens"] else (NO_TOKENS,)
            found.append(replace(made, columns=used, rows=rows, notes=notes, drawings=tuple(_drawings(told))))
    return found


def _row(table: TableEntry, cell: str, name: str, figures: Mapping[str, float | None]) -> ResultRow:
    published = table.published.get(name, {})
    told = {
        column: Figure(value, cell[:SHORT], published=published.get(column), digits=DIGITS.get(column, 1))
        for column, value in figures.items()
        if value is not None
    }
    return ResultRow(name, "", told)


def _pair_figures(told: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float | None]]]:
    """The rows with their figures."""
    pairs = told["rows"]
    yield "queries", {COUNT: told["reviews"]}
    yield "documents", {COUNT: told["documents"]}
    yield "pairs", {COUNT: pairs}
    for name, count in (("relevant", told["relevant"]), ("not relevant", pairs - told["relevant"])):
        yield name, {COUNT: count, SHARE: 100 * count / pairs if pairs else None}
    for name, of in told["words"].items():
        yield f"words in the {name}", _lengths(of)
    for name, of in (told["tokens"] or {}).items():
        yield f"tokens of {name}", {**_lengths(of), _over(told): of["percent_over_limit"]}
    yield "judged documents of a query", _lengths(told["studies_per_review"])
    yield "relevant documents of a query", _lengths(told["relevant_studies_per_review"])


def _over(told: Mapping[str, Any]) -> str:
    limits = [of["limit"] for of in (told["tokens"] or {}).values()]
    return OVER.format(limit=limits[0]) if limits else OVER


def _lengths(of: Mapping[str, Any]) -> dict[str, float | None]:
    return {MEAN: of["mean"], MEDIAN: of["median"], LARGEST: of["max"]}


def _drawings(told: Mapping[str, Any]) -> Iterator[Drawing]:
    for name, of in told["words"].items():
        if of["counts"]:
            yield _histogram(f"words-{name}", f"Words in the {name}", "words", of)
    for name, of in (told["tokens"] or {}).items():
        if of["counts"]:
            yield _histogram(f"tokens-{name}", f"Tokens of {name}", "tokens", of, of["limit"])
    labels = {"relevant": float(told["relevant"]), "not relevant": float(told["rows"] - told["relevant"])}
    yield Bars("labels", "Labels", "pairs", series={"pairs": labels}, digits=0)


def _histogram(name: str, title: str, unit: str, of: Mapping[str, Any], limit: int | None = None) -> Histogram:
    return Histogram(name, title, unit, "pairs", tuple(of["lengths"]), tuple(of["counts"]), limit)


def grades_table(measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """A table of the top k: number of documents of each grade, and of unjudged ones."""
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
