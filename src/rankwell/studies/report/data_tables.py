"""Tables about data: label sets, assessors, judged pairs, the grades in the top of a ranking."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rankwell.core import Judgments
from rankwell.evaluation import Comparison, compare, parse_measure, top_grades
from rankwell.evaluation.query_groups import by_answer_type, by_length
from rankwell.evaluation.significance import mark
from rankwell.report.pictures import bars, boxes, columns, histogram, stacked_bars
from rankwell.studies.file.study import GRADED, TableEntry
from rankwell.studies.plan.cells import SHORT
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.plan.plan import Described, PlannedRow
from rankwell.studies.report.finished import Drawing, Figure, FinishedStudy, ResultRow, ResultTable, result_table
from rankwell.studies.run.jobs import judgments_of, queries_of

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
                rows.append(ResultRow(name, "", figures).with_published(table.published.get(name, {})))
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
    for unit, title in (("words", "Words in the {}"), ("tokens", "Tokens of {}")):
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
        made.append(ResultRow(row.row.name, row.row.line, figures).with_published(published))
    notes = (f"documents in the top {table.depth} of {compared.queries} queries", *study.left_out(table, chosen))
    content = {"columns": names, "rows": study.in_order(table, made), "notes": notes}
    return result_table(table, chosen.name, compared.queries, **content)


COLUMNS = ("queries", "judged", "relevant", "relevant per query", "fewest", "most")


def label_sets_tables(study: FinishedStudy, table: TableEntry) -> list[ResultTable]:
    """One table with a row for each label set."""
    sets = [described for described in study.plan.described if described.table == table.name]
    if not sets:
        return []
    labels = {described.collection.name: judgments_of(study.store, described.index) for described in sets}
    counts, rows = {}, []
    for described in sets:
        chosen = described.collection
        judgments = labels[chosen.name]
        counts[chosen.name] = _counts(judgments, chosen.entry.labels)
        figures = _sizes(judgments, counts[chosen.name], described.index[:SHORT])
        rows.append(ResultRow(chosen.name, "", figures).with_published(table.published.get(chosen.only_name, {})))
    graded = [labels[of.collection.name] for of in sets if of.collection.entry.labels == GRADED]
    axes = {"title": "Relevant documents per query", "x": "labels", "y": "relevant documents"}
    drawings = [partial(boxes, counts, **axes), *map(_grades, graded[:1]), *_of_queries(study, sets[0])]
    queries = max(len(judgments) for judgments in labels.values())
    content = {"columns": COLUMNS, "rows": tuple(rows), "drawings": tuple(drawings)}
    return [result_table(table, ", ".join(labels), queries, **content)]


def _counts(judgments: Judgments, labels: str) -> list[int]:
    """Relevant documents of each query: in a graded set those above the lowest grade, which may be 1."""
    lowest = min((row.grade for row in judgments.rows()), default=0) if labels == GRADED else 0
    return [sum(grade > lowest for grade in of_query.values()) for of_query in judgments.values()]


def _sizes(judgments: Judgments, counts: list[int], cell: str) -> dict[str, Figure]:
    values = (len(counts), judgments.count, sum(counts), sum(counts) / max(1, len(counts)), min(counts), max(counts))
    digits = (0, 0, 0, 1, 0, 0)
    return {name: Figure(v, cell, digits=d) for name, v, d in zip(COLUMNS, values, digits, strict=True)}


def _grades(judgments: Judgments) -> Drawing:
    """The grades of each query, best queries first (re-assessment study, figure 4.2)."""
    steps = sorted({grade for of_query in judgments.values() for grade in of_query.values()})
    counts = {qid: [list(grades.values()).count(step) for step in steps] for qid, grades in judgments.items()}
    order = sorted(counts, key=lambda qid: counts[qid][::-1], reverse=True)
    series = {f"grade {step}": [float(counts[qid][n]) for qid in order] for n, step in enumerate(steps)}
    return partial(stacked_bars, order, series, title="Grades per query", x="queries", y="documents")


def _of_queries(study: FinishedStudy, described: Described) -> list[Drawing]:
    """Histograms of query length and answer type (re-assessment study, figures 4.3 and 4.4)."""
    texts = {qid: query.text() for qid, query in queries_of(study.store, described.index).items()}
    groups = {"Words of the queries": by_length(texts), "What the queries ask for": by_answer_type(texts)}
    return [
        partial(bars, list(of), {"queries": [len(qids) for qids in of.values()]}, title=title, x="queries", digits=0)
        for title, of in groups.items()
    ]


@dataclass(frozen=True)
class LabelTable:
    """The evaluated rows under one label set; all sets have the same queries."""

    chosen: Chosen
    rows: Mapping[str, PlannedRow]
    compared: Comparison

    def of_queries(self, row: str, measure: str) -> dict[str, float]:
        """A row's value for each query."""
        return self.compared.evaluations[row].per_query(parse_measure(measure))


def label_tests_tables(study: FinishedStudy, table: TableEntry) -> list[ResultTable]:
    """A row for each pipeline under each label set; each is compared with the same pipeline under the first set."""
    if len(study.groups(table)) < 2:  # noqa: PLR2004 -- one against another
        return []
    sets, qids = _under_all(study, table)
    old, *others = sets
    made = []
    for name in old.rows:
        for labels in (old, *others):
            if name in labels.rows:
                measures = zip(table.headings, table.measures, strict=True)
                figures = {heading: _figure(study, old, labels, name, m) for heading, m in measures}
                published = table.published.get(f"{name}: {labels.chosen.only_name}", {})
                full = f"{name}: {labels.chosen.name}"
                made.append(ResultRow(full, labels.rows[name].row.line, figures).with_published(published))
    columns = table.headings
    notes = [f"{labels.chosen.name}: {note}" for labels in sets for note in labels.compared.warnings()]
    content = {"columns": columns, "rows": tuple(made), "notes": notes, "drawings": (_drawing(sets, columns[0]),)}
    against, names = f"the same ranking under {old.chosen.name}", ", ".join(labels.chosen.name for labels in sets)
    return [result_table(table, names, len(qids), **content, against=against, corrected=False)]


def _under_all(study: FinishedStudy, table: TableEntry) -> tuple[list[LabelTable], list[str]]:
    """Evaluate under every label set over their common queries."""
    groups = study.groups(table)
    judgments = [study.judgments(rows[0]) for _, rows in groups]
    qids = [qid for qid in judgments[0] if all(qid in of for of in judgments)]
    sets = []
    for (chosen, rows), labels in zip(groups, judgments, strict=True):
        kept: Judgments = labels.only(qids)
        runs, test = study.runs(rows, kept), study.test()
        compared = compare(kept, runs, table.measures, test=test, correction="none", unjudged=table.unjudged)
        sets.append(LabelTable(chosen, {row.row.name: row for row in rows}, compared))
    return sets, qids


def _figure(study: FinishedStudy, old: LabelTable, new: LabelTable, name: str, measure: str) -> Figure:
    figure = study.figure(new.compared, new.rows[name], measure)
    if new is old:
        return figure
    before, after = old.of_queries(name, measure), new.of_queries(name, measure)
    better = parse_measure(measure).higher_is_better
    difference = study.test()([after[qid] for qid in before], list(before.values()), higher_is_better=better)
    return replace(figure, difference=difference.mean, p=difference.p, mark=mark(study.study.marks).of(difference.p))


def _drawing(sets: list[LabelTable], measure: str) -> Drawing:
    """The first measure of every pipeline, a bar for each label set."""
    rows = [name for name in sets[0].rows if all(name in labels.rows for labels in sets)]
    series = {name: [labels.compared.evaluations[name].mean(measure) for labels in sets] for name in rows}
    names, title = [labels.chosen.name for labels in sets], f"{measure} under each label set"
    return partial(bars, names, series, title=title, x=measure, digits=3)
