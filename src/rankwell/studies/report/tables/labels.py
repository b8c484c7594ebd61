"""Tables about label sets: their sizes, and the same run under several of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rankwell.core import Judgments
from rankwell.evaluation import Comparison, compare, parse_measure
from rankwell.evaluation.significance import mark
from rankwell.studies.file.study import GRADED, TableEntry
from rankwell.studies.plan.cells import SHORT
from rankwell.studies.plan.data import Chosen
from rankwell.studies.plan.plan import Described, PlannedRow
from rankwell.studies.report.figures import Bars, Boxes, Drawing, Figure, ResultRow, ResultTable, Stacks
from rankwell.studies.report.measured import Groups, Measured, blank, column_of, once, whole
from rankwell.studies.run.jobs import judgments_of, queries_of

COLUMNS = ("queries", "judged", "relevant", "relevant per query", "fewest", "most")


def label_sets_tables(measured: Measured, table: TableEntry) -> list[ResultTable]:
    """One table with a row for each label set."""
    found = [described for described in measured.plan.described if described.table == table.name]
    if not found:
        return []
    labels = {described.collection.name: judgments_of(measured.store, described.index) for described in found}
    rows = []
    for described in found:
        judgments = labels[described.collection.name]
        published = _published_sizes(table, described)
        figures = _figures(judgments, described)
        told = {name: replace(figure, published=published.get(name)) for name, figure in figures.items()}
        rows.append(ResultRow(described.collection.name, "", told))
    made = blank(table, ", ".join(labels), max(len(judgments) for judgments in labels.values()))
    graded = [described for described in found if described.collection.entry.labels == GRADED]
    counts = {of.collection.name: _counts(labels[of.collection.name], of.collection.entry.labels) for of in found}
    drawings = [_relevant(counts), *(_grades(labels[of.collection.name]) for of in graded[:1])]
    drawings += _of_queries(measured, found[0])
    return [replace(made, columns=COLUMNS, rows=tuple(rows), drawings=tuple(drawings))]


def _published_sizes(table: TableEntry, described: Described) -> Mapping[str, float]:
    """The published sizes of the label set that the collection stands for."""
    names = described.collection.stands_for
    return table.published.get(names[0], {}) if len(names) == 1 else {}


def _counts(judgments: Judgments, labels: str) -> list[int]:
    """Relevant documents of each query: in a graded set those above the lowest grade, which may be 1."""
    lowest = min((row.grade for row in judgments.rows()), default=0) if labels == GRADED else 0
    return [sum(grade > lowest for grade in of_query.values()) for of_query in judgments.values()]


def _figures(judgments: Judgments, described: Described) -> dict[str, Figure]:
    cell, counts = described.index[:SHORT], _counts(judgments, described.collection.entry.labels)
    values = (len(counts), judgments.count, sum(counts), sum(counts) / max(1, len(counts)), min(counts), max(counts))
    digits = (0, 0, 0, 1, 0, 0)
    return {name: Figure(v, cell, digits=d) for name, v, d in zip(COLUMNS, values, digits, strict=True)}


def _relevant(counts: Mapping[str, list[int]]) -> Drawing:
    groups = {name: tuple(map(float, of)) for name, of in counts.items()}
    return Boxes("relevant", "Relevant documents per query", "labels", "relevant documents", groups)


def _grades(judgments: Judgments) -> Drawing:
    """The grades of each query, best queries first (re-assessment study, figure 4.2)."""
    steps = sorted({grade for of_query in judgments.values() for grade in of_query.values()})
    counts = {qid: [list(grades.values()).count(step) for step in steps] for qid, grades in judgments.items()}
    order = sorted(counts, key=lambda qid: counts[qid][::-1], reverse=True)
    series = {f"grade {step}": {qid: float(counts[qid][n]) for qid in order} for n, step in enumerate(steps)}
    return Stacks("grades", "Grades per query", "queries", "documents", series)


def _of_queries(measured: Measured, described: Described) -> list[Drawing]:
    """Histograms of query length and answer type (re-assessment study, figures 4.3 and 4.4)."""
    from rankwell.evaluation.query_groups import by_answer_type, by_length

    texts = {qid: query.text() for qid, query in queries_of(measured.store, described.index).items()}
    groups = {"Words of the queries": by_length(texts), "What the queries ask for": by_answer_type(texts)}
    return [
        Bars(title.lower().replace(" ", "-"), title, "queries", series={"queries": _sizes(of)}, digits=0)
        for title, of in groups.items()
    ]


def _sizes(groups: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    return {name: float(len(members)) for name, members in groups.items()}


@dataclass(frozen=True)
class LabelTable:
    """The evaluated rows under one label set; all sets have the same queries."""

    chosen: Chosen
    rows: Mapping[str, PlannedRow]
    found: Comparison

    def of_queries(self, row: str, measure: str) -> dict[str, float]:
        """A row's value for each query."""
        return self.found.evaluations[row].per_query(parse_measure(measure))


def label_tests_tables(measured: Measured, table: TableEntry) -> list[ResultTable]:
    """A row for each pipeline under each label set; each is compared with the same pipeline under the first set."""
    groups = measured.groups(table)
    if len(groups) < 2:  # noqa: PLR2004 -- one against another
        return []
    sets, qids = _under_all(measured, table, groups)
    old, *others = sets
    made = []
    for name in old.rows:
        for labels in (old, *others):
            if name in labels.rows:
                figures = {column_of(m): _figure(measured, old, labels, name, m) for m in table.measures}
                made.append(_published(table, labels.chosen, name, labels.rows[name], figures))
    columns = tuple(column_of(measure) for measure in table.measures)
    notes = once([f"{labels.chosen.name}: {note}" for labels in sets for note in labels.found.warnings()])
    drawing = _drawing(table, sets, columns[0])
    empty = blank(table, ", ".join(labels.chosen.name for labels in sets), len(qids))
    against = f"the same ranking under {old.chosen.name}"
    told = replace(empty, against=against, corrected=False)
    return [replace(told, columns=columns, rows=tuple(made), notes=notes, drawings=(drawing,))]


def _under_all(measured: Measured, table: TableEntry, groups: Groups) -> tuple[list[LabelTable], list[str]]:
    """Evaluate under every label set over their common queries."""
    judgments = [measured.judgments(rows[0]) for _, rows in groups]
    qids = [qid for qid in judgments[0] if all(qid in of for of in judgments)]
    sets = []
    for (chosen, rows), labels in zip(groups, judgments, strict=True):
        kept: Judgments = labels.only(qids)
        runs = {row.row.name: whole(row.place.run(measured.store), kept) for row in rows}
        found = compare(kept, runs, table.measures, test=measured.test(), correction="none", unjudged=table.unjudged)
        sets.append(LabelTable(chosen, {row.row.name: row for row in rows}, found))
    return sets, qids


def _figure(measured: Measured, old: LabelTable, new: LabelTable, name: str, measure: str) -> Figure:
    around = new.found.interval(name, measure)
    ends = (None, None) if around is None else (around.low, around.high)
    figure = Figure(new.found.evaluations[name].mean(measure), new.rows[name].place.key[:SHORT], *ends)
    if new is old:
        return figure
    before, after = old.of_queries(name, measure), new.of_queries(name, measure)
    better = parse_measure(measure).higher_is_better
    found = measured.test()([after[qid] for qid in before], list(before.values()), higher_is_better=better)
    return replace(figure, difference=found.mean, p=found.p, mark=mark(measured.study.marks).of(found.p))


def _published(
    table: TableEntry, chosen: Chosen, name: str, row: PlannedRow, figures: Mapping[str, Figure]
) -> ResultRow:
    """The row with its label set in the name, and with the published figures of that set."""
    meant = chosen.stands_for[0] if len(chosen.stands_for) == 1 else ""
    told = table.published.get(f"{name}: {meant}", {})
    with_them = {column: replace(figure, published=told.get(column)) for column, figure in figures.items()}
    return ResultRow(f"{name}: {chosen.name}", row.row.line, with_them)


def _drawing(table: TableEntry, sets: list[LabelTable], measure: str) -> Bars:
    """The first measure of every pipeline, a bar for each label set."""
    rows = [name for name in sets[0].rows if all(name in labels.rows for labels in sets)]
    series = {
        name: {labels.chosen.name: labels.found.evaluations[name].mean(measure) for labels in sets} for name in rows
    }
    return Bars(table.name, f"{measure} under each label set", measure, series=series)
