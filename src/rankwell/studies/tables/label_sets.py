"""Label sets beside one another: how many queries, how many judged and how many relevant documents (S1, figure 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rankwell.core import Judgments
from rankwell.studies.cells import SHORT
from rankwell.studies.drawing import Bars, Boxes, Drawing, Stacks
from rankwell.studies.figures import Figure, ResultRow, ResultTable
from rankwell.studies.jobs import judgments_of, queries_of
from rankwell.studies.label_sets import GRADED
from rankwell.studies.measured import Measured, blank
from rankwell.studies.plan import Described
from rankwell.studies.study import TableEntry

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
        published = _published(table, described)
        figures = _figures(judgments, described)
        told = {name: replace(figure, published=published.get(name)) for name, figure in figures.items()}
        rows.append(ResultRow(described.collection.name, "", told))
    made = blank(table, ", ".join(labels), max(len(judgments) for judgments in labels.values()))
    graded = [described for described in found if described.collection.entry.labels == GRADED]
    counts = {of.collection.name: _counts(labels[of.collection.name], of.collection.entry.labels) for of in found}
    drawings = [_relevant(counts), *(_grades(labels[of.collection.name]) for of in graded[:1])]
    drawings += _of_queries(measured, found[0])
    return [replace(made, columns=COLUMNS, rows=tuple(rows), drawings=tuple(drawings))]


def _published(table: TableEntry, described: Described) -> Mapping[str, float]:
    """Of the label set that the collection stands for."""
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
    """The grades of each query, best queries first (S1, figure 4.2)."""
    steps = sorted({grade for of_query in judgments.values() for grade in of_query.values()})
    counts = {qid: [list(grades.values()).count(step) for step in steps] for qid, grades in judgments.items()}
    order = sorted(counts, key=lambda qid: counts[qid][::-1], reverse=True)
    series = {f"grade {step}": {qid: float(counts[qid][n]) for qid in order} for n, step in enumerate(steps)}
    return Stacks("grades", "Grades per query", "queries", "documents", series)


def _of_queries(measured: Measured, described: Described) -> list[Drawing]:
    """How long the queries are, and what they ask for (S1, figures 4.3 and 4.4)."""
    from rankwell.evaluate.query_groups import by_answer_type, by_length

    texts = {qid: query.text() for qid, query in queries_of(measured.store, described.index).items()}
    groups = {"Words of the queries": by_length(texts), "What the queries ask for": by_answer_type(texts)}
    return [
        Bars(title.lower().replace(" ", "-"), title, "queries", series={"queries": _sizes(of)}, digits=0)
        for title, of in groups.items()
    ]


def _sizes(groups: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    return {name: float(len(members)) for name, members in groups.items()}
