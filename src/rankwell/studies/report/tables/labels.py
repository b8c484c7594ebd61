"""Tables about label sets: their sizes, and the same run under several of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from rankwell.core import Judgments
from rankwell.evaluation import Comparison, compare, parse_measure
from rankwell.evaluation.query_groups import by_answer_type, by_length
from rankwell.evaluation.significance import mark
from rankwell.report.pictures import bars, boxes, stacked_bars
from rankwell.studies.file.study import GRADED, TableEntry
from rankwell.studies.plan.cells import SHORT
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.plan.plan import Described, PlannedRow
from rankwell.studies.report.figures import Drawing, Figure, ResultRow, ResultTable, in_columns
from rankwell.studies.report.finished import (
    FinishedStudy,
    Groups,
    column_of,
    mean_of,
    once,
    result_table,
    with_published,
)
from rankwell.studies.run.jobs import judgments_of, queries_of

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
        rows.append(ResultRow(chosen.name, "", with_published(figures, table.published.get(chosen.only_name, {}))))
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
    groups = study.groups(table)
    if len(groups) < 2:  # noqa: PLR2004 -- one against another
        return []
    sets, qids = _under_all(study, table, groups)
    old, *others = sets
    made = []
    for name in old.rows:
        for labels in (old, *others):
            if name in labels.rows:
                figures = {column_of(m): _figure(study, old, labels, name, m) for m in table.measures}
                published = table.published.get(f"{name}: {labels.chosen.only_name}", {})
                full = f"{name}: {labels.chosen.name}"
                made.append(ResultRow(full, labels.rows[name].row.line, with_published(figures, published)))
    columns = tuple(column_of(measure) for measure in table.measures)
    notes = once([f"{labels.chosen.name}: {note}" for labels in sets for note in labels.compared.warnings()])
    content = {"columns": columns, "rows": tuple(made), "notes": notes, "drawings": (_drawing(sets, columns[0]),)}
    against, names = f"the same ranking under {old.chosen.name}", ", ".join(labels.chosen.name for labels in sets)
    return [result_table(table, names, len(qids), **content, against=against, corrected=False)]


def _under_all(study: FinishedStudy, table: TableEntry, groups: Groups) -> tuple[list[LabelTable], list[str]]:
    """Evaluate under every label set over their common queries."""
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
    figure = mean_of(new.compared, new.rows[name], measure)
    if new is old:
        return figure
    before, after = old.of_queries(name, measure), new.of_queries(name, measure)
    better = parse_measure(measure).higher_is_better
    found = study.test()([after[qid] for qid in before], list(before.values()), higher_is_better=better)
    return replace(figure, difference=found.mean, p=found.p, mark=mark(study.study.marks).of(found.p))


def _drawing(sets: list[LabelTable], measure: str) -> Drawing:
    """The first measure of every pipeline, a bar for each label set."""
    rows = [name for name in sets[0].rows if all(name in labels.rows for labels in sets)]
    series = {
        name: {labels.chosen.name: labels.compared.evaluations[name].mean(measure) for labels in sets} for name in rows
    }
    title = f"{measure} under each label set"
    return partial(bars, *in_columns(series), title=title, x=measure, digits=3)
