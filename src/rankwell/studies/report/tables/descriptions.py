"""Tables about data: assessors, judged pairs, the grades in the top of a ranking."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rankwell.evaluation import compare, top_grades
from rankwell.report.pictures import bars, columns, histogram
from rankwell.studies.file.study import TableEntry
from rankwell.studies.plan.cells import SHORT
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.plan.plan import PlannedRow
from rankwell.studies.report.figures import Drawing, Figure, ResultRow, ResultTable
from rankwell.studies.report.finished import FinishedStudy, result_table, with_published

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


def assessors_tables(study: FinishedStudy, table: TableEntry) -> list[ResultTable]:
    """A table for each collection with grades of single people."""
    made = []
    for described in study.plan.described:
        if described.table == table.name:
            facts = study.store.record(described.cell)["people"]
            rows = []
            for name, figure in _assessor_figures(facts):
                published = table.published.get(name, {}).get(VALUE)
                rows.append(
                    ResultRow(name, "", {VALUE: replace(figure, cell=described.cell[:SHORT], published=published)})
                )
            notes = (*facts["warnings"], *(f"{count} queries: {fate}" for fate, count in facts["fates"].items()))
            drawings = tuple(
                partial(columns, {int(n): float(count) for n, count in facts[key].items()}, title=title, x=x, y=y)
                for key, (title, x, y) in PICTURES.items()
                if facts[key]
            )
            content = {"columns": (VALUE,), "rows": tuple(rows), "notes": notes, "drawings": drawings}
            made.append(result_table(table, described.collection.name, facts["given"]["kept"], **content))
    return made


def _assessor_figures(facts: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    given = facts["given"]
    for key, name in COUNTS.items():
        yield name, Figure(given[key], digits=0)
    if given["queries"] and given["assessors"]:
        both = sum(int(number) * count for number, count in facts["assessors_per_query"].items())
        yield "assessors per query", Figure(both / given["queries"], digits=2)
        yield "queries per assessor", Figure(both / given["assessors"], digits=2)
    if facts["seconds"] is not None:
        yield "seconds per answer, median", Figure(facts["seconds"], digits=1)
    for one in facts["agreement"]:
        value = one["value"]
        if value is not None and math.isfinite(value):
            yield f"{one['measure']}: {one['about']}", Figure(value, low=one["low"], high=one["high"], digits=3)


COUNT, MEAN, MEDIAN, LARGEST, OVER, SHARE = ("count", "mean", "median", "largest", "% over {limit}", "% of pairs")
DIGITS = {COUNT: 0, LARGEST: 0}
NO_TOKENS = "tokens are not counted, because no model with a tokenizer is here: rankwell models add minilm-l6"


def pairs_tables(study: FinishedStudy, table: TableEntry) -> list[ResultTable]:
    """A table of judged pairs for each collection."""
    made = []
    for described in study.plan.described:
        if described.table == table.name:
            facts = study.store.record(described.cell)["statistics"]
            rows = []
            for name, values in _pair_figures(facts):
                known = {column: value for column, value in values.items() if value is not None}
                figures = {c: Figure(v, described.cell[:SHORT], digits=DIGITS.get(c, 1)) for c, v in known.items()}
                rows.append(ResultRow(name, "", with_published(figures, table.published.get(name, {}))))
            usual = (COUNT, SHARE, MEAN, MEDIAN, LARGEST, _over(facts))
            used = tuple(column for column in usual if any(column in row.figures for row in rows))
            content = {"columns": used, "rows": tuple(rows), "notes": () if facts["tokens"] else (NO_TOKENS,)}
            drawings = tuple(_drawings(facts))
            made.append(result_table(table, described.collection.name, facts["reviews"], **content, drawings=drawings))
    return made


def _pair_figures(facts: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float | None]]]:
    """The rows with their figures."""
    pairs = facts["rows"]
    yield "queries", {COUNT: facts["reviews"]}
    yield "documents", {COUNT: facts["documents"]}
    yield "pairs", {COUNT: pairs}
    for name, count in (("relevant", facts["relevant"]), ("not relevant", pairs - facts["relevant"])):
        yield name, {COUNT: count, SHARE: 100 * count / pairs if pairs else None}
    for name, of in facts["words"].items():
        yield f"words in the {name}", _lengths(of)
    for name, of in (facts["tokens"] or {}).items():
        yield f"tokens of {name}", {**_lengths(of), _over(facts): of["percent_over_limit"]}
    yield "judged documents of a query", _lengths(facts["studies_per_review"])
    yield "relevant documents of a query", _lengths(facts["relevant_studies_per_review"])


def _over(facts: Mapping[str, Any]) -> str:
    limits = [of["limit"] for of in (facts["tokens"] or {}).values()]
    return OVER.format(limit=limits[0]) if limits else OVER


def _lengths(of: Mapping[str, Any]) -> dict[str, float | None]:
    return {MEAN: of["mean"], MEDIAN: of["median"], LARGEST: of["max"]}


def _drawings(facts: Mapping[str, Any]) -> Iterator[Drawing]:
    titles = {"words": "Words in the {}", "tokens": "Tokens of {}"}
    for unit, title in titles.items():
        for name, of in (facts[unit] or {}).items():
            if of["counts"]:
                limit = of["limit"] if unit == "tokens" else None
                axes: Any = {"title": title.format(name), "x": unit, "y": "pairs"}
                yield partial(histogram, of["lengths"], counts=of["counts"], limit=limit, **axes)
    labels = {"relevant": float(facts["relevant"]), "not relevant": float(facts["rows"] - facts["relevant"])}
    yield partial(bars, list(labels), {"pairs": list(labels.values())}, title="Labels", x="pairs", digits=0)


def grades_table(study: FinishedStudy, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """A table of the top k: number of documents of each grade, and of unjudged ones."""
    judgments = study.judgments(rows[0], table.part)
    compared = compare(judgments, study.runs(rows, judgments), ["Judged@10"], correction="none")
    made = []
    names: tuple[str, ...] = ()
    for row in rows:
        top = top_grades(compared.judged[row.row.name], table.depth)
        counts = {"unjudged": top.unjudged, **{f"grade {grade}": top.grades[grade] for grade in sorted(top.grades)}}
        names = tuple(counts)
        figures = {name: Figure(count, row.run.key[:SHORT], digits=0) for name, count in counts.items()}
        published = table.published.get(row.row.name, {})
        made.append(ResultRow(row.row.name, row.row.line, with_published(figures, published)))
    notes = (f"documents in the top {table.depth} of {compared.queries} queries", *study.left_out(table, chosen))
    content = {"columns": names, "rows": study.in_order(table, made), "notes": notes}
    return result_table(table, chosen.name, compared.queries, **content)
