"""The evaluated rows of a study: plan, finished cells, measures and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rankwell.core import Judgments, RankwellError, Run
from rankwell.evaluation import Comparison, compare, parse_measure
from rankwell.evaluation.significance import PairedTest, mark, paired_test
from rankwell.models.base import find_model
from rankwell.studies.file.reading import NONE
from rankwell.studies.file.study import ALL, MATCH_RATIO, TEST, VALIDATION, Study, TableEntry, measure_on
from rankwell.studies.plan.cells import SHORT, CellStore
from rankwell.studies.plan.data import AND, Chosen, smallest
from rankwell.studies.plan.models import ModelSize, size_of_model
from rankwell.studies.plan.plan import Plan, PlannedRow
from rankwell.studies.recipes.training import MODEL, TrainJob
from rankwell.studies.report.figures import Figure, ResultRow, ResultTable
from rankwell.studies.run.jobs import judgments_of
from rankwell.studies.steps import STEPS, Chain


def part_of(chosen: Chosen, judgments: Judgments, part: str) -> Judgments:
    """The judgments of a part of the queries.

    A collection whose `split` is "validation+test" has both parts, in this order; of any other one half of
    the queries, drawn by the seed, are for the test, and the rest (one more, where they are odd) for validation.
    """
    if part == ALL:
        return judgments
    splits = (chosen.entry.split or "").split(AND)
    if len(splits) > 1:
        names = splits[:1] if part == VALIDATION else splits[1:]
        wanted = {qid for name in names for qid in chosen.open().judgments(name)}
        return judgments.only(qid for qid in judgments if qid in wanted)
    tested = smallest(list(judgments), len(judgments) // 2, chosen.seed)
    return judgments.only(qid for qid in judgments if (qid in tested) == (part == TEST))


Groups = Sequence[tuple[Chosen, list[PlannedRow]]]


@dataclass(frozen=True)
class Measured:
    """A study whose cells are finished."""

    plan: Plan
    store: CellStore
    latency: float | None = None

    @property
    def study(self) -> Study:
        """The study's file."""
        return self.plan.file.study

    def test(self) -> PairedTest:
        """The paired test of the study."""
        drawn = {} if self.study.test == "t" else {"seed": self.study.seed}
        return paired_test(self.study.test, **drawn)

    def marks(self, table: TableEntry) -> str | None:
        """The style of significance marks; None for a table without comparisons."""
        return None if table.baseline == NONE else self.study.marks

    def judgments(self, row: PlannedRow, part: str = "all") -> Judgments:
        """The judgments of a row's collection, or of a part of its queries."""
        found = judgments_of(self.store, self.plan.cells[row.place.key].parents[0])
        return part_of(row.collection, found, part)

    def measure(self, name: str, row: PlannedRow) -> str:
        """A measure of the table on a row's collection, whose size some measures need."""
        index = self.store.record(self.plan.cells[row.place.key].parents[0])
        return measure_on(name, int(index["counts"]["documents"]))

    def compared(self, table: TableEntry, rows: Sequence[PlannedRow]) -> Comparison:
        """Compare the rows of one collection by the table's measures; the first is the baseline."""
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
        """Notes on rows that could not be run, one for each reason."""
        reasons: dict[str, list[str]] = {}
        for left in self.plan.left_out:
            if left.table == table.name and left.collection == chosen.name:
                reasons.setdefault(left.why, []).append(left.row)
        return [f"left out on {chosen.name}: {', '.join(rows)} ({why})" for why, rows in reasons.items()]

    def in_order(self, table: TableEntry, rows: Sequence[ResultRow]) -> tuple[ResultRow, ...]:
        """The rows in the order of the file; unchanged for a table without rows in the file."""
        places = {row.name: place for place, row in enumerate(self.plan.file.rows(table))}
        return tuple(sorted(rows, key=lambda row: places.get(row.name, 0)))


def whole(run: Run, judgments: Judgments) -> Run:
    """The run with exactly the judged queries: a run file lacks queries without a document."""
    return Run.from_dict({qid: dict(run[qid]) if qid in run else {} for qid in judgments}, tag=run.tag)


def figure_of(found: Comparison, row: PlannedRow, measure: str, marks: str | None) -> Figure:
    """A row's figure by a measure; without `marks` it is not compared."""
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
    """A table with its texts and no rows."""
    words = {name: getattr(table, name) for name in ("about", "after", "published_on", "differences")}
    return ResultTable(table.name, table.title, collection, queries, **words)


def column_of(measure: str) -> str:
    """The heading of a measure's column."""
    return measure if measure == MATCH_RATIO else str(parse_measure(measure))


def once(notes: Sequence[str]) -> tuple[str, ...]:
    """The notes without repetitions."""
    return tuple(dict.fromkeys(notes))


SIZE = ("M parameters", "MB")
SPEED = ("pairs", "pairs/s", "seconds", *SIZE)


def speed_of(measured: Measured, row: PlannedRow) -> dict[str, Figure]:
    """Number of pairs of the last step, pairs per second, seconds, and size of the models."""
    record = measured.store.record(row.place.key)
    cell = row.place.key[:SHORT]
    pairs, speed = record.get("pairs"), record.get("pairs_per_second")
    if pairs is None:
        found = {"seconds": Figure(record.get("stage_seconds", 0.0), cell, digits=1)}
    else:
        found = {"pairs": Figure(pairs, cell, digits=0)}
        if speed:
            found |= {"pairs/s": Figure(speed, cell, digits=1), "seconds": Figure(pairs / speed, cell, digits=1)}
    return found | size_of(measured, row)


def size_of(measured: Measured, row: PlannedRow) -> dict[str, Figure]:
    """Parameters and megabytes of all models of a row; nothing where it has none or one is missing."""
    cell = row.place.key[:SHORT]
    try:
        sizes = [size_of_model(folder, precision) for folder, precision in _models(measured, row)]
    except (RankwellError, OSError):
        return {}
    if not sizes:
        return {}
    whole = ModelSize(sum(size.parameters for size in sizes), sum(size.bytes for size in sizes))
    told = (whole.parameters / 1e6, whole.bytes / 1e6)
    return {name: Figure(value, cell, digits=1) for name, value in zip(SIZE, told, strict=True)}


def _models(measured: Measured, row: PlannedRow) -> set[tuple[Path, str | None]]:
    """The folders of a row's models, and their precision."""
    found = set()
    for name, precision in _used(row.chain):
        found.add((trained_folder(measured, row, name) or find_model(name), precision))
    return found


def _used(chain: Chain) -> Iterator[tuple[str, str | None]]:
    for step in chain:
        use = STEPS[step.kind].model(step)
        if use is not None and not step.beside:
            yield use.name, step.settings.get("precision")
        for line in step.beside:
            yield from _used(line)


def trained_folder(measured: Measured, row: PlannedRow, name: str) -> Path | None:
    """The folder of a model that the study trained, from the cells of the row's run."""
    recipe = measured.plan.file.models().get(name)
    wanted = {row.place.key} if recipe is not None else set()
    while wanted:
        cell = measured.plan.cells[wanted.pop()]
        if isinstance(cell.job, TrainJob) and cell.job.recipe == recipe:
            return measured.store.path(cell.key) / MODEL
        wanted |= set(cell.parents)
    return None


PAIRS_A_SECOND, FASTER = "pairs/s", "times as fast"


def share_columns(baseline: str) -> tuple[str, str]:
    """The headings of the two columns."""
    return f"% of {baseline}", FASTER


def shares_of(
    figures: Mapping[str, Figure], first: Mapping[str, Figure], measure: str, baseline: str
) -> dict[str, Figure]:
    """A row's figures relative to the baseline's, where both are known."""
    kept, faster = share_columns(baseline)
    found = {}
    for name, column, factor, digits in ((kept, measure, 100.0, 1), (faster, PAIRS_A_SECOND, 1.0, 2)):
        if column in figures and column in first and first[column].value:
            value = factor * figures[column].value / first[column].value
            found[name] = Figure(value, figures[column].cell, digits=digits)
    return found
