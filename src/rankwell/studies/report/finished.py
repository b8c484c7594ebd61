"""A study whose cells are finished: its rows evaluated, with their speed and the size of their models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankwell.core import Judgments, RankwellError, Run
from rankwell.evaluation import Comparison, compare, parse_measure
from rankwell.evaluation.significance import PairedTest, mark, paired_test
from rankwell.models.base import find_model
from rankwell.studies.file.reading import NONE
from rankwell.studies.file.study import ALL, MATCH_RATIO, TEST, VALIDATION, Study, TableEntry, measure_on
from rankwell.studies.plan.cells import SHORT, CellStore
from rankwell.studies.plan.collections import AND, Chosen, smallest
from rankwell.studies.plan.models import size_of_model
from rankwell.studies.plan.plan import Plan, PlannedRow
from rankwell.studies.recipes.training import MODEL, TrainJob
from rankwell.studies.report.figures import Figure, ResultRow, ResultTable
from rankwell.studies.run.jobs import judgments_of
from rankwell.studies.steps import all_steps, model_of


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
class FinishedStudy:
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
        whole = judgments_of(self.store, self.plan.cells[row.run.key].parents[0])
        return part_of(row.collection, whole, part)

    def measure(self, name: str, row: PlannedRow) -> str:
        """A measure of the table on a row's collection, whose size some measures need."""
        index = self.store.record(self.plan.cells[row.run.key].parents[0])
        return measure_on(name, int(index["counts"]["documents"]))

    def compared(self, table: TableEntry, rows: Sequence[PlannedRow]) -> Comparison:
        """Compare the rows of one collection by the table's measures; the first is the baseline."""
        judgments = self.judgments(rows[0], table.part)
        return compare(
            judgments,
            self.runs(rows, judgments),
            [self.measure(name, rows[0]) for name in table.measures],
            test=self.test(),
            correction=self.study.correction,
            unjudged=table.unjudged,
        )

    def runs(self, rows: Sequence[PlannedRow], judgments: Judgments) -> dict[str, Run]:
        """The runs of rows by their names."""
        return {row.row.name: whole(row.run.read(self.store), judgments) for row in rows}

    def groups(self, table: TableEntry) -> Groups:
        """The rows of a table by collection, the baseline first."""
        groups: list[tuple[Chosen, list[PlannedRow]]] = []
        for chosen in self.plan.collections:
            rows = [row for row in self.plan.rows if row.table == table.name and row.collection is chosen]
            rows.sort(key=lambda row: row.row.name != table.baseline)
            groups += [(chosen, rows)] if rows else []
        return groups

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


def mean_of(compared: Comparison, row: PlannedRow, measure: str) -> Figure:
    """A row's mean by a measure, with its interval."""
    around = compared.interval(row.row.name, measure)
    ends = (None, None) if around is None else (around.low, around.high)
    return Figure(compared.evaluations[row.row.name].mean(measure), row.run.key[:SHORT], *ends)


def figure_of(compared: Comparison, row: PlannedRow, measure: str, marks: str | None) -> Figure:
    """A row's figure by a measure; without `marks` it is not compared."""
    figure = mean_of(compared, row, measure)
    difference = compared.difference(row.row.name, measure) if marks is not None else None
    if difference is None or marks is None:
        return figure
    p = difference.corrected_p
    return replace(figure, difference=difference.found.mean, p=p, mark=mark(marks).of(p))


def result_table(table: TableEntry, collection: str, queries: int, **content: Any) -> ResultTable:
    """A table with its texts from the file, and with this content."""
    words = {name: getattr(table, name) for name in ("about", "after", "published_on", "differences")}
    return ResultTable(table.name, table.title, collection, queries, **{**words, **content})


def with_published(figures: Mapping[str, Figure], published: Mapping[str, float]) -> dict[str, Figure]:
    """The figures with the published ones of the same names beside them."""
    return {name: replace(figure, published=published.get(name)) for name, figure in figures.items()}


def column_of(measure: str) -> str:
    """The heading of a measure's column."""
    return measure if measure == MATCH_RATIO else str(parse_measure(measure))


def once(notes: Sequence[str]) -> tuple[str, ...]:
    """The notes without repetitions."""
    return tuple(dict.fromkeys(notes))


SIZE = ("M parameters", "MB")
SPEED = ("pairs", "pairs/s", "seconds", *SIZE)


def speed_of(study: FinishedStudy, row: PlannedRow) -> dict[str, Figure]:
    """Number of pairs of the last step, pairs per second, seconds, and size of the models."""
    record, cell = study.store.record(row.run.key), row.run.key[:SHORT]
    pairs, speed = record.get("pairs"), record.get("pairs_per_second")
    if pairs is None:
        figures = {"seconds": Figure(record.get("stage_seconds", 0.0), cell, digits=1)}
    else:
        figures = {"pairs": Figure(pairs, cell, digits=0)}
        if speed:
            figures |= {"pairs/s": Figure(speed, cell, digits=1), "seconds": Figure(pairs / speed, cell, digits=1)}
    return figures | size_of(study, row)


def size_of(study: FinishedStudy, row: PlannedRow) -> dict[str, Figure]:
    """Parameters and megabytes of all models of a row; nothing where it has none or one is missing."""
    models = set()
    try:
        for step in all_steps(row.chain):
            use = None if step.beside else model_of(step)
            if use is not None:
                models.add((trained_folder(study, row, use.name) or find_model(use.name), use.precision))
        sizes = [size_of_model(folder, precision) for folder, precision in models]
    except (RankwellError, OSError):
        return {}
    if not sizes:
        return {}
    megas = (sum(size.parameters for size in sizes) / 1e6, sum(size.bytes for size in sizes) / 1e6)
    return {name: Figure(mega, row.run.key[:SHORT], digits=1) for name, mega in zip(SIZE, megas, strict=True)}


def trained_folder(study: FinishedStudy, row: PlannedRow, name: str) -> Path | None:
    """The folder of a model that the study trained, from the cells of the row's run."""
    recipe = study.plan.file.models().get(name)
    wanted = {row.run.key} if recipe is not None else set()
    while wanted:
        cell = study.plan.cells[wanted.pop()]
        if isinstance(cell.job, TrainJob) and cell.job.recipe == recipe:
            return study.store.path(cell.key) / MODEL
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
    shares = {}
    for name, column, factor, digits in ((kept, measure, 100.0, 1), (faster, PAIRS_A_SECOND, 1.0, 2)):
        if column in figures and column in first and first[column].value:
            value = factor * figures[column].value / first[column].value
            shares[name] = Figure(value, figures[column].cell, digits=digits)
    return shares
