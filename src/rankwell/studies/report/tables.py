"""The tables of a study, made from its finished cells by their kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from rankwell.core import Judgments
from rankwell.evaluation import Sweep, parse_measure, sweep
from rankwell.evaluation.significance import mark
from rankwell.evaluation.sweeps import reranked_to
from rankwell.report.pictures import Line, bars, lines
from rankwell.studies.file import study as file
from rankwell.studies.file.reading import EVERY, NONE
from rankwell.studies.file.study import TableEntry
from rankwell.studies.plan.cells import SHORT, CellStore
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.plan.plan import Plan, PlannedRow
from rankwell.studies.report.data_tables import (
    assessors_tables,
    grades_table,
    label_sets_tables,
    label_tests_tables,
    pairs_tables,
)
from rankwell.studies.report.finished import SPEED, Drawing, Figure, FinishedStudy, ResultRow, ResultTable, result_table
from rankwell.studies.report.frontier import quality_and_latency
from rankwell.studies.report.model_tables import curves_table, scores_table
from rankwell.studies.steps.kinds import control_of, depth_of

DIGITS = 3  # of figures in pictures
MOST_BARS = 24


def comparison_table(
    study: FinishedStudy, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]
) -> ResultTable:
    """A table with a column for each measure."""
    compared = study.compared(table, rows)
    made = []
    names = table.headings
    for row in rows:
        measures = zip(names, table.measures, strict=True)
        figures = {name: study.figure(compared, row, study.measure(m, row), table) for name, m in measures}
        figures |= study.speed(row) if table.speed else {}
        result = ResultRow(row.row.name, row.row.line, figures, row.row.values)
        published = dict(table.published.get(row.row.name, {}))
        published |= {name: published[m] for name, m in zip(names, table.measures, strict=True) if m in published}
        made.append(result.with_published(published))
    columns = (*names, *(SPEED if table.speed else ()))
    first = made[0]
    if table.share and table.baseline in (None, first.name):  # it may have been left out
        shares = [shares_of(row.figures, first.figures, names[0], first.name) for row in made]
        made = [replace(row, figures={**row.figures, **share}) for row, share in zip(made, shares, strict=True)]
        columns += share_columns(first.name)
    ordered = study.in_order(table, made)
    notes = [*compared.warnings(), *study.notes(table, chosen)]
    drawings: list[Drawing] = []
    if table.x:
        drawings = [_over_x(table.x, ordered, names[0])]
    elif 1 < len(ordered) <= MOST_BARS:
        lengths = {names[0]: [row.figures[names[0]].value for row in ordered]}
        title, labels = f"{names[0]} on {chosen.name}", [row.name for row in ordered]
        drawings = [partial(bars, labels, lengths, title=title, x=names[0], digits=DIGITS)]
    content = {"columns": columns, "rows": ordered, "notes": notes, "drawings": tuple(drawings)}
    return result_table(table, chosen.name, compared.queries, **content)


def _over_x(variable: str, rows: Sequence[ResultRow], measure: str) -> Drawing:
    """The measure over the variable: a line for each combination of the others."""
    points: dict[str, list[tuple[float, Figure]]] = {}
    for row in (row for row in rows if variable in row.values):  # a control has no value of it
        others = ", ".join(value for name, value in row.values.items() if name != variable)
        points.setdefault(others or measure, []).append((float(row.values[variable]), row.figures[measure]))
    curves = []
    for name, of_line in points.items():
        of_line.sort(key=lambda point: point[0])
        figures = [figure for _, figure in of_line]
        banded = all(figure.low is not None and figure.high is not None for figure in figures)
        ends = [figure.low or 0.0 for figure in figures], [figure.high or 0.0 for figure in figures]
        values = [figure.value for figure in figures]
        curves.append(Line(name, [x for x, _ in of_line], values, *(ends if banded else (None, None))))
    return partial(lines, curves, title=f"{measure} by {variable}", x=variable, y=measure)


PAIRS_A_SECOND, FASTER = "pairs/s", "times as fast"


def share_columns(baseline: str) -> tuple[str, str]:
    """The headings of the two columns."""
    return f"% of {baseline}", FASTER


def shares_of(
    figures: Mapping[str, Figure], first: Mapping[str, Figure], measure: str, baseline: str
) -> dict[str, Figure]:
    """A row's figures relative to the baseline's, where both are known."""
    kept, faster = share_columns(baseline)
    shares = {}
    for name, column, factor, digits in ((kept, measure, 100.0, 1), (faster, PAIRS_A_SECOND, 1.0, 2)):
        if column in figures and column in first and first[column].value:
            value = factor * figures[column].value / first[column].value
            shares[name] = Figure(value, figures[column].cell, digits=digits)
    return shares


PUBLISHED = "chosen"  # the published figures' row, whichever row is selected


def chosen_tables(study: FinishedStudy, table: TableEntry) -> list[ResultTable]:
    """A table for each collection: the baseline of the table `of`, and the best of its other rows."""
    source = next(other for other in study.study.table if other.name == table.of)
    return [made for _, rows in study.groups(source) if (made := _chosen(study, table, source, rows))]


def _chosen(study: FinishedStudy, table: TableEntry, source: TableEntry, rows: list[PlannedRow]) -> ResultTable | None:
    """The table of one collection; None where it has only a baseline."""
    first = 0 if source.baseline == NONE else 1
    measured = [row for row in rows if not row.control]
    if not measured[first:]:
        return None
    best, value, queries = _best(study, source, measured, first)
    control = control_of(best.chain) or ()
    controls = [row for row in rows if row.control and row.chain[:-1] == control[:-1]]
    published = {best.row.name: table.published[PUBLISHED]} if PUBLISHED in table.published else {}
    measures, published = table.measures or source.measures, {**table.published, **published}
    wanted = replace(table, measures=measures, unjudged=source.unjudged, published=published)
    made = comparison_table(study, wanted, best.collection, [*measured[:first], best, *controls])
    note = f"{best.row.name} was chosen by {source.measures[0]}: {value:.4f} on {queries} queries ({source.part})"
    return replace(made, notes=(note, *made.notes))


def _best(
    study: FinishedStudy, source: TableEntry, rows: list[PlannedRow], first: int
) -> tuple[PlannedRow, float, int]:
    """The best row from `first` on by the first measure; of equal ones the upper."""
    compared = study.compared(source, rows)
    measure = study.measure(source.measures[0], rows[0])
    sign = 1 if parse_measure(measure).higher_is_better else -1
    means = {row.row.name: compared.evaluations[row.row.name].mean(measure) for row in rows}
    best = max(rows[first:], key=lambda row: sign * means[row.row.name])
    return best, means[best.row.name], compared.queries


def depths_table(study: FinishedStudy, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """The difference between re-ranking the top X and the run before it, for every X, with its 95 % interval."""
    judgments = study.judgments(rows[0], table.part)
    names = [str(parse_measure(measure)) for measure in table.measures]
    made: list[ResultRow] = []
    curves: dict[str, list[Line]] = {name: [] for name in names}
    notes: list[str] = []
    queries = 0
    for row in rows:
        swept, cell = _depths(study, table, row, judgments), row.run.key[:SHORT]
        queries = swept.comparison.queries
        for point in swept.points:
            figures = {}
            for name in names:
                at = swept.difference(point, name)
                sign = mark(study.study.marks).of(at.p)
                figures[name] = Figure(swept.mean(point, name), cell)
                figures[f"{name} difference"] = Figure(at.mean, cell, *at.interval, at.mean, at.p, sign)
            made.append(ResultRow(f"{row.row.name}, top {point:g}", row.row.line, figures))
        for name in names:
            at_points = [swept.difference(point, name) for point in swept.points]
            ends = [at.interval.low for at in at_points], [at.interval.high for at in at_points]
            curves[name].append(Line(row.row.name, list(swept.points), [at.mean for at in at_points], *ends))
        notes += swept.warnings()
    drawings = [
        partial(lines, of, title=f"{name}: difference to the run before", x="depth", y=name, level=0.0)
        for name, of in curves.items()
    ]
    columns = tuple(column for name in names for column in (name, f"{name} difference"))
    notes += study.notes(table, chosen)
    content = {"columns": columns, "rows": tuple(made), "notes": notes, "drawings": tuple(drawings)}
    against = "the run before re-ranking"
    return result_table(table, chosen.name, queries, **content, against=against, corrected=False)


def _depths(study: FinishedStudy, table: TableEntry, row: PlannedRow, judgments: Judgments) -> Sweep:
    """Points of one curve are not corrected for their number."""
    assert row.before is not None  # noqa: S101 -- the file was checked for a step that re-ranks
    both = {"first": study.run(row.before, judgments), "reranked": study.run(row.run, judgments)}
    both, note = study.without_own(row, judgments, both)
    first, reranked = both["first"], both["reranked"]
    longest = max((len(ranking) for _, ranking in first.rankings()), default=1)
    longest = min([longest, *filter(None, map(depth_of, row.chain))])  # deeper than the re-ranker went is the same
    depths = [depth for depth in table.depths if depth <= longest] or [min(table.depths)]
    runs = {float(depth): reranked_to(first, reranked, depth) for depth in depths}
    test, unjudged = study.test(), table.unjudged
    swept = sweep(judgments, first, runs, table.measures, name="depth", test=test, unjudged=unjudged)
    return replace(swept, note="; ".join(note) or None)


def over_collections(study: FinishedStudy, table: TableEntry) -> list[ResultTable]:
    """A table with a column for each collection, by one measure; none without rows."""
    groups = study.groups(table)
    if not groups:
        return []
    figures: dict[str, dict[str, Figure]] = {}
    texts: dict[str, str] = {}
    notes: list[str] = []
    queries = 0
    for chosen, rows in groups:
        compared = study.compared(table, rows)
        queries += compared.queries
        for row in rows:
            published = table.published.get(row.row.name, {}).get(chosen.only_name)
            figure = study.figure(compared, row, table.measures[0], table)
            figures.setdefault(row.row.name, {})[chosen.name] = replace(figure, published=published)
            texts[row.row.name] = row.row.line
        notes += [f"{chosen.name} ({compared.queries} queries): {note}" for note in compared.warnings()]
        notes += study.notes(table, chosen)
    columns = tuple(chosen.name for chosen, _ in groups)
    averaged = [chosen for chosen, _ in groups if {EVERY, *chosen.stands_for} & set(table.average)]
    if len(averaged) > 1:
        names = [chosen.name for chosen in averaged]
        wanted = {chosen.name for chosen in study.plan.collections} if EVERY in table.average else set(table.average)
        whole = all(chosen.is_real for chosen in averaged) and wanted <= set(names)
        elsewhere = table.published if whole else {}
        figures = {name: with_average(of_row, names, elsewhere.get(name, {})) for name, of_row in figures.items()}
        columns = (*columns, AVERAGE)
        notes.append(f"{AVERAGE}: the mean over {', '.join(names)}, each counted once")
    made = [ResultRow(name, texts[name], of_row) for name, of_row in figures.items()]
    content = {"columns": columns, "rows": study.in_order(table, made), "notes": notes}
    named = replace(table, title=f"{table.title}: {table.measures[0]}")
    return [result_table(named, ", ".join(chosen.name for chosen, _ in groups), queries, **content)]


AVERAGE = "average"


def with_average(
    figures: Mapping[str, Figure], columns: Sequence[str], published: Mapping[str, float]
) -> dict[str, Figure]:
    """A row's figures with their mean over these columns; without it where one is missing."""
    if any(column not in figures for column in columns):
        return dict(figures)
    mean = sum(figures[column].value for column in columns) / len(columns)
    return {**figures, AVERAGE: Figure(mean, published=published.get(AVERAGE))}


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
    return (over_collections if table.columns == "collections" else each(comparison_table))(study, table)


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
        file.CURVES: each(curves_table),
        file.SCORES: each(scores_table),
    }
)
