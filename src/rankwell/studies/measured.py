"""What the tables of a study are made of: the plan, the finished cells, and words that all kinds of tables share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rankwell.core import Judgments, Run
from rankwell.evaluate import Comparison, compare, parse_measure
from rankwell.evaluate.significance import PairedTest, mark, paired_test
from rankwell.studies.cells import SHORT, CellStore
from rankwell.studies.data import Chosen
from rankwell.studies.figures import Figure, ResultRow, ResultTable
from rankwell.studies.jobs import judgments_of
from rankwell.studies.parts import part_of
from rankwell.studies.plan import Plan, PlannedRow
from rankwell.studies.reading import NONE
from rankwell.studies.study import MATCH_RATIO, Study, TableEntry, measure_on

Groups = Sequence[tuple[Chosen, list[PlannedRow]]]


@dataclass(frozen=True)
class Measured:
    """A study whose cells are finished."""

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

    def judgments(self, row: PlannedRow, part: str = "all") -> Judgments:
        """Those of a row's collection, or of a part of its queries."""
        found = judgments_of(self.store, self.plan.cells[row.place.key].parents[0])
        return part_of(row.collection, found, part)

    def measure(self, name: str, row: PlannedRow) -> str:
        """A measure of the table on a row's collection, whose size some measures need."""
        index = self.store.record(self.plan.cells[row.place.key].parents[0])
        return measure_on(name, int(index["counts"]["documents"]))

    def compared(self, table: TableEntry, rows: Sequence[PlannedRow]) -> Comparison:
        """The rows of one collection by the measures of a table, the first of them the baseline."""
        judgments = self.judgments(rows[0], table.part)
        return compare(
            judgments,
            {row.row.name: whole(row.place.run(self.store), judgments) for row in rows},
            [self.measure(name, rows[0]) for name in table.measures],
            test=self.test(),
            correction=self.study.correction,
            unjudged=table.unjudged,
        )

    def groups(self, table: TableEntry) -> Groups:
        """The rows of a table by collection, the baseline first."""
        found = []
        for chosen in self.plan.collections:
            rows = [row for row in self.plan.of_table(table) if row.collection is chosen]
            rows.sort(key=lambda row: row.row.name != table.baseline)
            if rows:
                found.append((chosen, rows))
        return found

    def left_out(self, table: TableEntry, chosen: Chosen) -> list[str]:
        """Rows that could not be run, said once for every reason."""
        reasons: dict[str, list[str]] = {}
        for left in self.plan.left_out:
            if left.table == table.name and left.collection == chosen.name:
                reasons.setdefault(left.why, []).append(left.row)
        return [f"left out on {chosen.name}: {', '.join(rows)} ({why})" for why, rows in reasons.items()]

    def in_order(self, table: TableEntry, rows: Sequence[ResultRow]) -> tuple[ResultRow, ...]:
        """The rows as they stand in the file; those of a table that has none there, as they are."""
        places = {row.name: place for place, row in enumerate(self.plan.file.rows(table))}
        return tuple(sorted(rows, key=lambda row: places.get(row.name, 0)))


def whole(run: Run, judgments: Judgments) -> Run:
    """A run with all judged queries in it and no others: a file says nothing of those without a document."""
    return Run.from_dict({qid: dict(run[qid]) if qid in run else {} for qid in judgments}, tag=run.tag)


def figure_of(found: Comparison, row: PlannedRow, measure: str, marks: str | None) -> Figure:
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


def blank(table: TableEntry, collection: str, queries: int) -> ResultTable:
    """A table with its words and without figures."""
    words = {name: getattr(table, name) for name in ("about", "after", "published_on", "differences")}
    return ResultTable(table.name, table.title, collection, queries, **words)


def column_of(measure: str) -> str:
    """A measure's name above its column."""
    return measure if measure == MATCH_RATIO else str(parse_measure(measure))


def once(notes: Sequence[str]) -> tuple[str, ...]:
    """Each note once."""
    return tuple(dict.fromkeys(notes))
