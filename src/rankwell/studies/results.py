"""From runs to tables: each kind of table has a way to be made of the finished cells of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from rankwell.core import Judgments, Run
from rankwell.evaluate import Comparison, compare, parse_measure, top_grades
from rankwell.evaluate.significance import PairedTest, mark, paired_test
from rankwell.evaluate.sweep import BASELINE, Sweep, reranked_to
from rankwell.studies.cells import SHORT, CellStore
from rankwell.studies.data import Chosen
from rankwell.studies.figures import Curve, Drawing, Figure, ResultRow, ResultTable
from rankwell.studies.frontier import frontier_table
from rankwell.studies.jobs import judgments_of
from rankwell.studies.plan import Plan, PlannedRow
from rankwell.studies.reading import NONE
from rankwell.studies.study import COMPARISON, DEPTHS, FRONTIER, GRADES, MATCH_RATIO, Study, TableEntry, measure_on

SPEED = ("pairs", "pairs/s", "seconds")
MOST_BARS = 24


@dataclass(frozen=True)
class Measured:
    """What the tables of a study are made of."""

    plan: Plan
    store: CellStore
    latency: float | None = None

    @property
    def study(self) -> Study:
        """The study."""
        return self.plan.file.study

    def test(self) -> PairedTest:
        """The paired test of the study."""
        drawn = {} if self.study.test == "t" else {"seed": self.study.seed}
        return paired_test(self.study.test, **drawn)

    def marks(self, table: TableEntry) -> str | None:
        """How significance is marked; None in a table that compares nothing."""
        return None if table.baseline == NONE else self.study.marks

    def judgments(self, row: PlannedRow) -> Judgments:
        """Those of a row's collection."""
        return judgments_of(self.store, self.plan.cells[row.place.key].parents[0])

    def measure(self, name: str, row: PlannedRow) -> str:
        """A measure of the table on a row's collection, whose size some measures need."""
        index = self.store.record(self.plan.cells[row.place.key].parents[0])
        return measure_on(name, int(index["counts"]["documents"]))

    def run(self, row: PlannedRow) -> Run:
        """A row's run, with the queries that found nothing too."""
        return whole(row.place.run(self.store), self.judgments(row))


def whole(run: Run, judgments: Judgments) -> Run:
    """A run with all judged queries in it: a file says nothing of those without a document."""
    return Run.from_dict({qid: dict(run[qid]) if qid in run else {} for qid in judgments}, tag=run.tag)


def results(plan: Plan, store: CellStore, latency: float | None = None) -> list[ResultTable]:
    """All tables, in the order of the file; `latency` is the budget of a frontier, in milliseconds."""
    measured = Measured(plan, store, latency)
    found: list[ResultTable] = []
    for table in plan.file.study.table:
        groups = _by_collection(measured, table)
        if not groups:
            continue
        if table.columns == "collections":
            found.append(_over_collections(measured, table, groups))
        else:
            found += [KINDS[table.kind](measured, table, chosen, rows) for chosen, rows in groups]
    return found


Groups = Sequence[tuple[Chosen, list[PlannedRow]]]


def _by_collection(measured: Measured, table: TableEntry) -> Groups:
    """The rows of a table by collection, the baseline first."""
    found = []
    for chosen in measured.plan.collections:
        rows = [row for row in measured.plan.of_table(table) if row.collection is chosen]
        rows.sort(key=lambda row: row.row.name != table.baseline)
        if rows:
            found.append((chosen, rows))
    return found


def _compared(measured: Measured, table: TableEntry, rows: Sequence[PlannedRow]) -> Comparison:
    return compare(
        measured.judgments(rows[0]),
        {row.row.name: measured.run(row) for row in rows},
        [measured.measure(name, rows[0]) for name in table.measures],
        test=measured.test(),
        correction=measured.study.correction,
        unjudged=table.unjudged,
    )


def _figure(found: Comparison, row: PlannedRow, measure: str, marks: str | None) -> Figure:
    """A row by a measure; without `marks` it is compared with nothing."""
    name = row.row.name
    around = found.interval(name, measure)
    difference = found.difference(name, measure) if marks is not None else None
    ends = (None, None) if around is None else (around.low, around.high)
    figure = Figure(found.evaluations[name].mean(measure), row.place.key[:SHORT], *ends)
    if difference is None or marks is None:
        return figure
    p = difference.corrected_p
    return replace(figure, difference=difference.found.mean, p=p, mark=mark(marks).of(p))


def _in_order(table: TableEntry, measured: Measured, rows: Sequence[ResultRow]) -> tuple[ResultRow, ...]:
    """The rows as they stand in the file."""
    names = [row.name for row in measured.plan.file.rows(table)]
    return tuple(sorted(rows, key=lambda row: names.index(row.name)))


def comparison_table(measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """A column for each measure."""
    found = _compared(measured, table, rows)
    made = []
    names = [_column(measure) for measure in table.measures]
    for row in rows:
        told = table.published.get(row.row.name, {})
        figures = {
            name: replace(
                _figure(found, row, measured.measure(measure, row), measured.marks(table)), published=told.get(measure)
            )
            for name, measure in zip(names, table.measures, strict=True)
        }
        if table.speed:
            speeds = _speed(measured, row).items()
            figures |= {name: replace(figure, published=told.get(name)) for name, figure in speeds}
        made.append(ResultRow(row.row.name, row.row.line, figures, row.row.values))
    ordered = _in_order(table, measured, made)
    columns = (*names, *(SPEED if table.speed else ()))
    notes = list(found.warnings()) + _left_out(measured, table, chosen)
    drawings = _over_x(table, ordered, names) if table.x else _bars(table, chosen, ordered, names[0])
    blank = _blank(table, chosen.name, found.queries)
    return replace(blank, columns=columns, rows=ordered, notes=_once(notes), drawings=tuple(drawings))


def _over_collections(measured: Measured, table: TableEntry, groups: Groups) -> ResultTable:
    """A column for each collection, by one measure."""
    figures: dict[str, dict[str, Figure]] = {}
    lines: dict[str, str] = {}
    notes: list[str] = []
    queries = 0
    for chosen, rows in groups:
        found = _compared(measured, table, rows)
        queries += found.queries
        for row in rows:
            told = table.published.get(row.row.name, {})
            published = next(
                (told[name] for name in chosen.stands_for if name in told and len(chosen.stands_for) == 1), None
            )
            one = _figure(found, row, table.measures[0], measured.marks(table))
            figures.setdefault(row.row.name, {})[chosen.name] = replace(one, published=published)
            lines[row.row.name] = row.row.line
        notes += [f"{chosen.name} ({found.queries} queries): {note}" for note in found.warnings()]
        notes += _left_out(measured, table, chosen)
    made = [ResultRow(name, lines[name], of_row) for name, of_row in figures.items()]
    columns = tuple(chosen.name for chosen, _ in groups)
    title = f"{table.title}: {table.measures[0]}"
    ordered = _in_order(table, measured, made)
    blank = _blank(table, ", ".join(columns), queries)
    return replace(blank, title=title, columns=columns, rows=ordered, notes=_once(notes))


def depths_table(measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """What re-ranking the top X gives beside the run before it, for every X, with its 95 % interval."""
    judgments = measured.judgments(rows[0])
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
        Drawing(f"{table.name}-{place}", f"{name}: difference to the run before", "depth", name, tuple(of), level=0.0)
        for place, (name, of) in enumerate(curves.items())
    ]
    columns = tuple(column for name in names for column in (name, f"{name} difference"))
    notes += _left_out(measured, table, chosen)
    blank = _blank(table, chosen.name, queries)
    return replace(blank, columns=columns, rows=tuple(made), notes=_once(notes), drawings=tuple(drawings))


def _depths(measured: Measured, table: TableEntry, row: PlannedRow, judgments: Judgments) -> Sweep:
    """Points of one curve are not corrected for their number."""
    assert row.before is not None  # noqa: S101 -- the file was checked for a step that re-ranks
    first, reranked = whole(row.before.run(measured.store), judgments), measured.run(row)
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


def grades_table(measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """What the top k is made of: how many documents of each grade, and how many that nobody judged."""
    found = compare(
        measured.judgments(rows[0]), {row.row.name: measured.run(row) for row in rows}, ["Judged@10"], correction="none"
    )
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
    notes = [f"documents in the top {table.depth} of {found.queries} queries", *_left_out(measured, table, chosen)]
    blank = _blank(table, chosen.name, found.queries)
    return replace(blank, columns=columns, rows=_in_order(table, measured, made), notes=tuple(notes))


def _frontier(measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    found = _compared(measured, table, rows)
    name = str(parse_measure(table.measures[0]))
    quality = {row.row.name: _figure(found, row, name, measured.marks(table)) for row in rows}
    told = frontier_table(rows, quality, measured.store, name, measured.latency)
    notes = [*told.notes, *found.warnings(), *_left_out(measured, table, chosen)]
    ordered = _in_order(table, measured, told.rows)
    blank = _blank(table, chosen.name, found.queries)
    made = replace(blank, columns=told.columns, rows=ordered, notes=_once(notes))
    return replace(made, drawings=told.drawings, advice=told.advice)


Maker = Callable[[Measured, TableEntry, Chosen, Sequence[PlannedRow]], ResultTable]
KINDS: Mapping[str, Maker] = MappingProxyType(
    {COMPARISON: comparison_table, DEPTHS: depths_table, GRADES: grades_table, FRONTIER: _frontier}
)


def _blank(table: TableEntry, collection: str, queries: int) -> ResultTable:
    """A table with its words and without figures."""
    words = {name: getattr(table, name) for name in ("about", "after", "published_on", "differences")}
    return ResultTable(table.name, table.title, collection, queries, **words)


def _column(measure: str) -> str:
    """A measure's name above its column."""
    return measure if measure == MATCH_RATIO else str(parse_measure(measure))


def _once(notes: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notes))


def _left_out(measured: Measured, table: TableEntry, chosen: Chosen) -> list[str]:
    """Rows that could not be run, said once for every reason."""
    reasons: dict[str, list[str]] = {}
    for left in measured.plan.left_out:
        if left.table == table.name and left.collection == chosen.name:
            reasons.setdefault(left.why, []).append(left.row)
    return [f"left out on {chosen.name}: {', '.join(rows)} ({why})" for why, rows in reasons.items()]


def _speed(measured: Measured, row: PlannedRow) -> dict[str, Figure]:
    """How many pairs the last step read, how many a second, and how long that takes."""
    record = measured.store.record(row.place.key)
    pairs, speed = record.get("pairs"), record.get("pairs_per_second")
    if pairs is None:
        return {"seconds": Figure(record.get("stage_seconds", 0.0), row.place.key[:SHORT], digits=1)}
    cell = row.place.key[:SHORT]
    found = {"pairs": Figure(pairs, cell, digits=0)}
    if speed:
        found |= {"pairs/s": Figure(speed, cell, digits=1), "seconds": Figure(pairs / speed, cell, digits=1)}
    return found


def _bars(table: TableEntry, chosen: Chosen, rows: Sequence[ResultRow], measure: str) -> list[Drawing]:
    if not 1 < len(rows) <= MOST_BARS:
        return []
    lengths = {row.name: row.figures[measure].value for row in rows}
    return [Drawing(table.name, f"{measure} on {chosen.name}", measure, "", bars=lengths)]


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
    return [Drawing(table.name, f"{measures[0]} by {table.x}", table.x, measures[0], tuple(curves))]
