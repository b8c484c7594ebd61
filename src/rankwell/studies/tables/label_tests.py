"""Old labels against new: the same run under several label sets, tested query by query (S1, experiments 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rankwell.core import Judgments
from rankwell.evaluate import Comparison, compare, parse_measure
from rankwell.evaluate.significance import mark
from rankwell.studies.cells import SHORT
from rankwell.studies.data import Chosen
from rankwell.studies.drawing import Bars
from rankwell.studies.figures import Figure, ResultRow, ResultTable
from rankwell.studies.measured import Groups, Measured, blank, column_of, once, whole
from rankwell.studies.plan import PlannedRow
from rankwell.studies.study import TableEntry


@dataclass(frozen=True)
class Labelled:
    """The rows under one label set, all over the same queries."""

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


def _under_all(measured: Measured, table: TableEntry, groups: Groups) -> tuple[list[Labelled], list[str]]:
    """Every label set over the queries that all of them have."""
    judgments = [measured.judgments(rows[0]) for _, rows in groups]
    qids = [qid for qid in judgments[0] if all(qid in of for of in judgments)]
    sets = []
    for (chosen, rows), labels in zip(groups, judgments, strict=True):
        kept: Judgments = labels.only(qids)
        runs = {row.row.name: whole(row.place.run(measured.store), kept) for row in rows}
        found = compare(kept, runs, table.measures, test=measured.test(), correction="none", unjudged=table.unjudged)
        sets.append(Labelled(chosen, {row.row.name: row for row in rows}, found))
    return sets, qids


def _figure(measured: Measured, old: Labelled, new: Labelled, name: str, measure: str) -> Figure:
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
    """The row under the name of its labels; published figures are those of the labels that they stand for."""
    meant = chosen.stands_for[0] if len(chosen.stands_for) == 1 else ""
    told = table.published.get(f"{name}: {meant}", {})
    with_them = {column: replace(figure, published=told.get(column)) for column, figure in figures.items()}
    return ResultRow(f"{name}: {chosen.name}", row.row.line, with_them)


def _drawing(table: TableEntry, sets: list[Labelled], measure: str) -> Bars:
    """The first measure of every pipeline, a bar for each label set."""
    rows = [name for name in sets[0].rows if all(name in labels.rows for labels in sets)]
    series = {
        name: {labels.chosen.name: labels.found.evaluations[name].mean(measure) for labels in sets} for name in rows
    }
    return Bars(table.name, f"{measure} under each label set", measure, series=series)
