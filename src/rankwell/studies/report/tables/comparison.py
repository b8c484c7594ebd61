"""Tables of measures: rows compared, model selection, depth sweeps, a column a collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankwell.core import Judgments
from rankwell.evaluation import compare, parse_measure
from rankwell.evaluation.significance import mark
from rankwell.evaluation.sweep import BASELINE, Sweep, reranked_to
from rankwell.studies.file.reading import NONE
from rankwell.studies.file.study import TableEntry
from rankwell.studies.plan.cells import SHORT
from rankwell.studies.plan.data import Chosen
from rankwell.studies.plan.plan import PlannedRow
from rankwell.studies.report.figures import Bars, Curve, Drawing, Figure, Lines, ResultRow, ResultTable
from rankwell.studies.report.measured import (
    SPEED,
    Groups,
    Measured,
    blank,
    column_of,
    figure_of,
    once,
    share_columns,
    shares_of,
    speed_of,
    whole,
)

MOST_BARS = 24


def comparison_table(measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """A table with a column for each measure."""
    found = measured.compared(table, rows)
    made = []
    names = [column_of(measure) for measure in table.measures]
    for row in rows:
        told = table.published.get(row.row.name, {})
        figures = {}
        for name, measure in zip(names, table.measures, strict=True):
            figure = figure_of(found, row, measured.measure(measure, row), measured.marks(table))
            figures[name] = replace(figure, published=told.get(measure))
        if table.speed:
            speeds = speed_of(measured, row).items()
            figures |= {name: replace(figure, published=told.get(name)) for name, figure in speeds}
        made.append(ResultRow(row.row.name, row.row.line, figures, row.row.values))
    columns = (*names, *(SPEED if table.speed else ()))
    first = made[0]
    if table.share and table.baseline in (None, first.name):  # it may have been left out
        shares = [shares_of(row.figures, first.figures, names[0], first.name) for row in made]
        made = [replace(row, figures={**row.figures, **share}) for row, share in zip(made, shares, strict=True)]
        columns += share_columns(first.name)
    ordered = measured.in_order(table, made)
    notes = list(found.warnings()) + measured.left_out(table, chosen)
    drawings = _over_x(table, ordered, names) if table.x else _bars(table, chosen, ordered, names[0])
    empty = blank(table, chosen.name, found.queries)
    return replace(empty, columns=columns, rows=ordered, notes=once(notes), drawings=tuple(drawings))


def _bars(table: TableEntry, chosen: Chosen, rows: Sequence[ResultRow], measure: str) -> list[Drawing]:
    if not 1 < len(rows) <= MOST_BARS:
        return []
    lengths = {row.name: row.figures[measure].value for row in rows}
    return [Bars(table.name, f"{measure} on {chosen.name}", measure, series={measure: lengths})]


def _over_x(table: TableEntry, rows: Sequence[ResultRow], measures: Sequence[str]) -> list[Drawing]:
    """The first measure over the variable: a line for each combination of the others."""
    assert table.x is not None  # noqa: S101 -- asked for
    lines: dict[str, list[tuple[float, Figure]]] = {}
    for row in rows:
        others = ", ".join(value for name, value in row.values.items() if name != table.x)
        lines.setdefault(others or measures[0], []).append((float(row.values[table.x]), row.figures[measures[0]]))
    curves = []
    for name, points in lines.items():
        points.sort(key=lambda point: point[0])
        banded = all(figure.low is not None and figure.high is not None for _, figure in points)
        curves.append(
            Curve(
                name,
                tuple(x for x, _ in points),
                tuple(figure.value for _, figure in points),
                tuple(figure.low or 0.0 for _, figure in points) if banded else None,
                tuple(figure.high or 0.0 for _, figure in points) if banded else None,
            )
        )
    return [Lines(table.name, f"{measures[0]} by {table.x}", table.x, measures[0], tuple(curves))]


PUBLISHED = "chosen"  # the published figures' row, whichever row is selected


def chosen_tables(measured: Measured, table: TableEntry) -> list[ResultTable]:
    """A table for each collection: the baseline of the table `of`, and the best of its other rows."""
    source = next(other for other in measured.study.table if other.name == table.of)
    return [made for _, rows in measured.groups(source) if (made := _chosen(measured, table, source, rows))]


def _chosen(measured: Measured, table: TableEntry, source: TableEntry, rows: list[PlannedRow]) -> ResultTable | None:
    """The table of one collection; None where it has only a baseline."""
    first = 0 if source.baseline == NONE else 1
    if not rows[first:]:
        return None
    best, value, queries = _best(measured, source, rows, first)
    published = {best.row.name: table.published[PUBLISHED]} if PUBLISHED in table.published else {}
    told = replace(
        table,
        measures=table.measures or source.measures,
        unjudged=source.unjudged,
        published={**table.published, **published},
    )
    made = comparison_table(measured, told, best.collection, [*rows[:first], best])
    note = f"{best.row.name} was chosen by {source.measures[0]}: {value:.4f} on {queries} queries ({source.part})"
    return replace(made, notes=once([note, *made.notes]))


def _best(measured: Measured, source: TableEntry, rows: list[PlannedRow], first: int) -> tuple[PlannedRow, float, int]:
    """The best row from `first` on by the first measure; of equal ones the upper."""
    compared = measured.compared(source, rows)
    measure = measured.measure(source.measures[0], rows[0])
    sign = 1 if parse_measure(measure).higher_is_better else -1
    means = {row.row.name: compared.evaluations[row.row.name].mean(measure) for row in rows}
    best = max(rows[first:], key=lambda row: sign * means[row.row.name])
    return best, means[best.row.name], compared.queries


def depths_table(measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """The difference between re-ranking the top X and the run before it, for every X, with its 95 % interval."""
    judgments = measured.judgments(rows[0], table.part)
    names = [str(parse_measure(measure)) for measure in table.measures]
    made: list[ResultRow] = []
    curves: dict[str, list[Curve]] = {name: [] for name in names}
    notes: list[str] = []
    queries = 0
    for row in rows:
        found = _depths(measured, table, row, judgments)
        queries = found.comparison.queries
        for point in found.points:
            figures = {}
            for name in names:
                at = found.difference(point, name)
                sign = mark(measured.study.marks).of(at.p)
                ends = (at.interval.low, at.interval.high)
                figures[name] = Figure(found.mean(point, name), row.place.key[:SHORT])
                figures[f"{name} difference"] = Figure(
                    at.mean, row.place.key[:SHORT], *ends, difference=at.mean, p=at.p, mark=sign
                )
            made.append(ResultRow(f"{row.row.name}, top {point:g}", row.row.line, figures))
        for name in names:
            at_points = [found.difference(point, name) for point in found.points]
            curves[name].append(
                Curve(
                    row.row.name,
                    tuple(found.points),
                    tuple(at.mean for at in at_points),
                    tuple(at.interval.low for at in at_points),
                    tuple(at.interval.high for at in at_points),
                )
            )
        notes += list(found.warnings())
    drawings = [
        Lines(f"{table.name}-{place}", f"{name}: difference to the run before", "depth", name, tuple(of), level=0.0)
        for place, (name, of) in enumerate(curves.items())
    ]
    columns = tuple(column for name in names for column in (name, f"{name} difference"))
    notes += measured.left_out(table, chosen)
    empty = blank(table, chosen.name, queries)
    told = replace(empty, against="the run before re-ranking", corrected=False)
    return replace(told, columns=columns, rows=tuple(made), notes=once(notes), drawings=tuple(drawings))


def _depths(measured: Measured, table: TableEntry, row: PlannedRow, judgments: Judgments) -> Sweep:
    """Points of one curve are not corrected for their number."""
    assert row.before is not None  # noqa: S101 -- the file was checked for a step that re-ranks
    first, reranked = (whole(place.run(measured.store), judgments) for place in (row.before, row.place))
    longest = max((len(ranking) for _, ranking in first.rankings()), default=1)
    depths = [depth for depth in table.depths if depth <= longest] or [min(table.depths)]
    runs = {f"depth={depth}": reranked_to(first, reranked, depth) for depth in depths}
    found = compare(
        judgments,
        {BASELINE: first, **runs},
        table.measures,
        test=measured.test(),
        correction="none",
        unjudged=table.unjudged,
    )
    return Sweep("depth", found, dict(zip(map(float, depths), runs, strict=True)))


def over_collections(measured: Measured, table: TableEntry, groups: Groups) -> ResultTable:
    """A table with a column for each collection, by one measure."""
    figures: dict[str, dict[str, Figure]] = {}
    lines: dict[str, str] = {}
    notes: list[str] = []
    queries = 0
    for chosen, rows in groups:
        found = measured.compared(table, rows)
        queries += found.queries
        for row in rows:
            told = table.published.get(row.row.name, {})
            published = next(
                (told[name] for name in chosen.stands_for if name in told and len(chosen.stands_for) == 1), None
            )
            one = figure_of(found, row, table.measures[0], measured.marks(table))
            figures.setdefault(row.row.name, {})[chosen.name] = replace(one, published=published)
            lines[row.row.name] = row.row.line
        notes += [f"{chosen.name} ({found.queries} queries): {note}" for note in found.warnings()]
        notes += measured.left_out(table, chosen)
    made = [ResultRow(name, lines[name], of_row) for name, of_row in figures.items()]
    columns = tuple(chosen.name for chosen, _ in groups)
    title = f"{table.title}: {table.measures[0]}"
    ordered = measured.in_order(table, made)
    empty = blank(table, ", ".join(columns), queries)
    return replace(empty, title=title, columns=columns, rows=ordered, notes=once(notes))
