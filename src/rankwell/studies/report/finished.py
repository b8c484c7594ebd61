"""A study whose cells are finished: its rows evaluated, and the figures of its tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rankwell.core import Judgments, RankwellError, Run
from rankwell.evaluation import Comparison, compare
from rankwell.evaluation.judged import leave_out_own
from rankwell.evaluation.significance import PairedTest, mark, seeded_test
from rankwell.models.base import find_model
from rankwell.report.pictures import Picture
from rankwell.studies.file.reading import NONE
from rankwell.studies.file.study import ALL, TEST, VALIDATION, Study, TableEntry, measure_on
from rankwell.studies.plan.cells import SHORT, CellStore
from rankwell.studies.plan.collections import AND, Chosen, smallest
from rankwell.studies.plan.plan import Plan, PlannedRow, size_of_model
from rankwell.studies.recipes.training import MODEL, TrainJob
from rankwell.studies.run.jobs import CellRun, judgments_of
from rankwell.studies.steps import all_steps, model_of

Drawing = partial[Picture]  # draws a picture when it is called


@dataclass(frozen=True)
class Figure:
    """One number of a table. `cell` names the run that it was measured on."""

    value: float
    cell: str | None = None
    low: float | None = None
    high: float | None = None
    difference: float | None = None  # to the baseline
    p: float | None = None
    mark: str = ""
    published: float | None = None
    digits: int = 4

    def plain(self) -> dict[str, Any]:
        """The figure for JSON: unknown values are left out, NaN is null."""
        known = {name: value for name, value in asdict(self).items() if value not in (None, "")}
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in known.items()}


@dataclass(frozen=True)
class ResultRow:
    """A row: its pipeline, and its figures by column."""

    name: str
    line: str
    figures: Mapping[str, Figure]
    values: Mapping[str, str] = field(default_factory=dict)

    def with_published(self, figures: Mapping[str, float]) -> ResultRow:
        """The row with published figures beside those of the same columns."""
        both = {name: replace(figure, published=figures.get(name)) for name, figure in self.figures.items()}
        return replace(self, figures=both)


@dataclass(frozen=True)
class ResultTable:
    """A table of the study for one collection, or with a column for each of several."""

    name: str  # of the table in the file
    title: str
    collection: str
    queries: int
    columns: tuple[str, ...] = ()
    rows: tuple[ResultRow, ...] = ()
    notes: tuple[str, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    about: str = ""
    after: str = ""
    published_on: str = ""
    differences: str = ""
    advice: str = ""  # what to do about it
    against: str = "the first row"  # what marks compare with
    corrected: bool = True  # as the study says, for the number of rows

    @property
    def anchor(self) -> str:
        """A unique name within the report, for links."""
        plain = "".join(char if char.isalnum() else "-" for char in self.collection.lower())
        return f"{self.name}-{plain}"

    def plain(self) -> dict[str, Any]:
        """The table for JSON."""
        rows = [
            {"row": row.name, "line": row.line, "figures": {name: f.plain() for name, f in row.figures.items()}}
            for row in self.rows
        ]
        about = {"table": self.name, "title": self.title, "collection": self.collection, "queries": self.queries}
        return about | {"columns": list(self.columns), "rows": rows, "notes": list(self.notes), "advice": self.advice}


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


SIZE = ("M parameters", "MB")
QUERIES_A_MINUTE = "queries/min"
SPEED = ("pairs", "pairs/s", "seconds", QUERIES_A_MINUTE, *SIZE)


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
        return seeded_test(self.study.test, self.study.seed)

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
        runs, note = self.without_own(rows[0], judgments, self._read(rows, judgments))
        compared = compare(
            judgments,
            runs,
            [self.measure(name, rows[0]) for name in table.measures],
            test=self.test(),
            correction=self.study.correction,
            unjudged=table.unjudged,
            controls=[row.row.name for row in rows if row.control],
        )
        return replace(compared, notes=note)

    def runs(self, rows: Sequence[PlannedRow], judgments: Judgments) -> dict[str, Run]:
        """The runs of rows by their names, without documents that are queries themselves."""
        return self.without_own(rows[0], judgments, self._read(rows, judgments))[0]

    def _read(self, rows: Sequence[PlannedRow], judgments: Judgments) -> dict[str, Run]:
        return {row.row.name: self.run(row.run, judgments) for row in rows}

    def without_own(
        self, row: PlannedRow, judgments: Judgments, runs: Mapping[str, Run]
    ) -> tuple[dict[str, Run], tuple[str, ...]]:
        """Runs on a row's collection without documents of their query's own id, and a note where some are left out."""
        kept, said = leave_out_own(judgments, runs, row.collection.entry.own)
        return kept, (f'{said} (own = "keep" at the collection keeps them)',) if said else ()

    def run(self, run: CellRun, judgments: Judgments) -> Run:
        """A run with exactly the judged queries: a run file lacks queries without a document."""
        stored = run.read(self.store)
        return Run.from_dict({qid: dict(stored[qid]) if qid in stored else {} for qid in judgments}, tag=stored.tag)

    def groups(self, table: TableEntry) -> list[tuple[Chosen, list[PlannedRow]]]:
        """The rows of a table by collection, the baseline first."""
        groups = []
        for chosen in self.plan.collections:
            rows = [row for row in self.plan.rows if row.table == table.name and row.collection is chosen]
            rows.sort(key=lambda row: row.row.name != table.baseline)
            groups += [(chosen, rows)] if rows else []
        return groups

    def notes(self, table: TableEntry, chosen: Chosen) -> list[str]:
        """Notes on the collection, on rows that lose what is cut off, and on rows that could not be run."""
        about = [f"{chosen.name}: {chosen.entry.about}"] if chosen.entry.about else []
        return [*about, *self.plan.file.cut_rows(table), *self.left_out(table, chosen)]

    def left_out(self, table: TableEntry, chosen: Chosen) -> list[str]:
        """Notes on rows that could not be run, one for each reason."""
        reasons: dict[str, list[str]] = {}
        for left in self.plan.left_out:
            if left.table == table.name and left.collection == chosen.name:
                reasons.setdefault(left.why, []).append(left.row)
        return [f"left out on {chosen.name}: {', '.join(rows)} ({why})" for why, rows in reasons.items()]

    def in_order(self, table: TableEntry, rows: Sequence[ResultRow]) -> tuple[ResultRow, ...]:
        """The rows in the order of the file, then the controls; unchanged for a table without rows in the file."""
        places = {row.name: place for place, row in enumerate(self.plan.file.rows(table))}
        return tuple(sorted(rows, key=lambda row: places.get(row.name, len(places))))

    def figure(self, compared: Comparison, row: PlannedRow, measure: str, table: TableEntry | None = None) -> Figure:
        """A row's mean by a measure with its interval; of a table also its difference to the baseline."""
        around = compared.interval(row.row.name, measure)
        ends = (None, None) if around is None else (around.low, around.high)
        figure = Figure(compared.evaluations[row.row.name].mean(measure), row.run.key[:SHORT], *ends)
        difference = compared.difference(row.row.name, measure)
        if table is None or table.baseline == NONE or difference is None:
            return figure
        p = difference.corrected_p
        return replace(figure, difference=difference.found.mean, p=p, mark=mark(self.study.marks).of(p))

    def speed(self, row: PlannedRow) -> dict[str, Figure]:
        """Number of pairs of the last step, pairs per second, seconds, queries per minute, and size of the models."""
        record, cell = self.store.record(row.run.key), row.run.key[:SHORT]
        pairs, speed = record.get("pairs"), record.get("pairs_per_second")
        if pairs is None:
            figures = {"seconds": Figure(record.get("stage_seconds", 0.0), cell, digits=1)}
        else:
            figures = {"pairs": Figure(pairs, cell, digits=0)}
            if speed:
                figures |= {"pairs/s": Figure(speed, cell, digits=1), "seconds": Figure(pairs / speed, cell, digits=1)}
        seconds, queries = figures.get("seconds"), record.get("queries")
        if seconds is not None and seconds.value > 0 and queries and not row.control:
            figures[QUERIES_A_MINUTE] = Figure(60 * queries / seconds.value, cell, digits=1)
        return figures | self.size(row)

    def size(self, row: PlannedRow) -> dict[str, Figure]:
        """Parameters and megabytes of all models of a row; nothing where it has none or one is missing."""
        models = set()
        try:
            for step in all_steps(row.chain):
                use = None if step.beside else model_of(step)
                if use is not None:
                    models.add((self.trained_folder(row, use.name) or find_model(use.name), use.precision))
            sizes = [size_of_model(folder, precision) for folder, precision in models]
        except (RankwellError, OSError):
            return {}
        if not sizes:
            return {}
        megas = (sum(size.parameters for size in sizes) / 1e6, sum(size.bytes for size in sizes) / 1e6)
        return {name: Figure(mega, row.run.key[:SHORT], digits=1) for name, mega in zip(SIZE, megas, strict=True)}

    def trained_folder(self, row: PlannedRow, name: str) -> Path | None:
        """The folder of a model that the study trained; None for any other."""
        cell = self.trained_cell(row, name)
        return None if cell is None else self.store.path(cell) / MODEL

    def trained_cell(self, row: PlannedRow, name: str) -> str | None:
        """The cell of a model that the study trained, among the cells of the row's run; None for any other."""
        recipe = self.plan.file.models().get(name)
        wanted = {row.run.key} if recipe is not None else set()
        while wanted:
            cell = self.plan.cells[wanted.pop()]
            if isinstance(cell.job, TrainJob) and cell.job.recipe == recipe:
                return cell.key
            wanted |= set(cell.parents)
        return None


def result_table(table: TableEntry, collection: str, queries: int, **content: Any) -> ResultTable:
    """A table with its texts from the file, and with this content; its notes stand there once."""
    content |= {name: getattr(table, name) for name in ("about", "after", "published_on", "differences")}
    content["notes"] = tuple(dict.fromkeys(content.get("notes", ())))
    return ResultTable(table.name, table.title, collection, queries, **content)
