"""How results show themselves: as text, in a notebook, as LaTeX, as a data frame (`rankwell.core.showing`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwell.core import Judgments, MissingExtraError, Queries, Run
from rankwell.core.records import frame
from rankwell.evaluation.comparison import Comparison, warnings
from rankwell.evaluation.evaluation import Evaluation
from rankwell.evaluation.measures import Measure
from rankwell.evaluation.significance import mark
from rankwell.evaluation.sweeps import Sweep
from rankwell.report.comparison import compact_table, comparison_table, difference_pictures, evaluation_table
from rankwell.report.html import Note, Part, PicturePart, TablePart, Text
from rankwell.report.pictures import Line, Picture, bars, histogram, lines
from rankwell.report.sweep import sweep_pictures, sweep_table, tuning_table
from rankwell.report.table import Cell, Column, Table, cell_text, latex_table, latex_text, unmarked

if TYPE_CHECKING:
    import pandas as pd

ROWS = 10  # of a run, queries or judgments
WORDS = 60  # letters of a text in a table
FIGURES = 4


@dataclass(frozen=True)
class View:
    """A table with notes and pictures; `figures` is the table for programs, `latex` writes another for papers."""

    table: Table
    notes: Sequence[str] = ()
    pictures: Callable[[], Iterable[Picture]] = tuple
    figures: Table | None = None
    write_latex: Callable[[str | None, str | None], str] | None = None

    def text(self) -> str:
        """The table and the notes for a terminal."""
        return self.table.render("table") + "".join(f"\n{note}" for note in self.notes)

    def html(self) -> str:
        """The table, the notes and the pictures for a notebook."""
        parts: list[Part] = [TablePart(self.table), *map(Text, self.notes)]
        try:
            parts += map(PicturePart, self.pictures())
        except MissingExtraError as error:
            parts.append(Note(str(error)))
        return "\n".join(part.html() for part in parts)

    def latex(self, caption: str | None, label: str | None) -> str:
        """The table as LaTeX."""
        if self.write_latex is not None:
            return self.write_latex(caption, label)
        alignment = "".join(column.align[0] for column in self.table.columns)
        texts = self.table.texts(latex_text)
        return latex_table(texts, alignment, caption=latex_text(caption or self.table.title), label=label)

    def frame(self) -> pd.DataFrame:
        """The figures as a data frame."""
        table = self.figures or self.table
        columns = zip(*map(unmarked, table.rows), strict=True) if table.rows else [()] * len(table.columns)
        return frame({column.name: list(cells) for column, cells in zip(table.columns, columns, strict=True)})


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WORDS else f"{line[: WORDS - 1]}…"


def _more(total: int, what: str) -> list[str]:
    return [f"and {total - ROWS:,} more {what}"] if total > ROWS else []


def run_view(run: Run) -> View:
    """The first documents of a run, with their titles where they are known."""
    qids = np.repeat(np.array(run.qids, dtype=object), np.diff(run.offsets))[:ROWS].tolist()
    rows: list[list[Cell]] = [
        [qid, int(rank), docno, float(score)]
        for qid, rank, docno, score in zip(
            qids, run.ranks[:ROWS], run.docnos[:ROWS].tolist(), run.scores[:ROWS], strict=True
        )
    ]
    columns = [Column("qid", "left"), Column("rank"), Column("docno", "left"), Column("score", digits=FIGURES)]
    if run.documents is not None and rows:
        columns.append(Column("document", "left"))
        for row in rows:
            document = run.documents.get(str(row[2]))
            row.append("" if document is None else _shown(next(iter(document.fields.values()), "")))
    title = f"{run.tag}: {len(run.qids):,} queries, {len(run):,} documents"
    return View(Table(title, columns, rows), _more(len(run), "documents"))


def queries_view(queries: Queries) -> View:
    """The first queries with their wordings."""
    names = queries.fields or ("query",)
    rows: list[list[Cell]] = [
        [query.id, *(_shown(query.texts.get(name, "")) for name in names)] for query in islice(queries.values(), ROWS)
    ]
    columns = [Column("qid", "left"), *(Column(name, "left") for name in names if name != "qid")]
    return View(Table(f"{len(queries):,} queries", columns, rows), _more(len(queries), "queries"))


def judgments_view(judgments: Judgments) -> View:
    """The first judgments, and how many have each grade."""
    rows: list[list[Cell]] = [list(row) for row in islice(judgments.rows(), ROWS)]
    columns = [Column("qid", "left"), Column("docno", "left"), Column("grade")]
    counts: dict[int, int] = {}
    for row in judgments.rows():
        counts[row.grade] = counts.get(row.grade, 0) + 1
    graded = [f"grade {grade}: {counts[grade]:,}" for grade in sorted(counts, reverse=True)]
    notes = [*_more(judgments.count, "judgments"), *([", ".join(graded)] if graded else [])]

    def pictures() -> list[Picture]:
        shares = {"judgments": [float(counts[grade]) for grade in sorted(counts)]}
        return [bars([f"grade {grade}" for grade in sorted(counts)], shares, title="Grades", x="judgments")]

    title = f"{judgments.count:,} judgments of {len(judgments):,} queries"
    return View(Table(title, columns, rows), notes, pictures if counts else tuple)


def evaluation_view(evaluation: Evaluation) -> View:
    """The means of one run."""
    return evaluations_view({"run": evaluation})


def evaluations_view(evaluations: Mapping[str, Evaluation]) -> View:
    """The means of several runs, and how the values of queries are distributed."""
    if not evaluations:
        return View(Table("Means", [Column("run", "left")], []))
    first = next(iter(evaluations.values()))

    def pictures() -> list[Picture]:
        measure = next((measure for measure in first.measures if measure.is_mean), None)
        if measure is None:
            return []
        drawn = []
        for run, evaluation in evaluations.items():
            values = evaluation.array(measure)
            values = values[np.isfinite(values)]
            if len(values):
                title = f"{measure} of {run}" if len(evaluations) > 1 else str(measure)
                drawn.append(histogram(values, title=title, x=str(measure), y="queries", log=False))
        return drawn

    def latex(caption: str | None, label: str | None) -> str:
        bold = " Best values are bold." if len(evaluations) > 1 else ""
        said = f"{caption or 'Means'}. {first.queries:,} queries.{bold}"
        return _means_latex(evaluations, lambda _run, _measure: "", said, label)

    return View(evaluation_table(evaluations), list(warnings(evaluations)), pictures, write_latex=latex)


def comparison_view(comparison: Comparison) -> View:
    """Means with marks of significance; all figures as a data frame."""
    notes = [f"{_tested(comparison)} {mark('stars').legend}", *comparison.warnings()]
    return View(
        compact_table(comparison),
        notes,
        lambda: difference_pictures(comparison),
        comparison_table(comparison),
        lambda caption, label: comparison_latex(comparison, caption, label),
    )


def _tested(comparison: Comparison) -> str:
    """The baseline, the test and the correction, in a sentence."""
    corrected = "" if comparison.correction == "none" else f", {comparison.correction}-corrected"
    return f"Differences to {comparison.baseline}: {comparison.test.name} test{corrected}."


def comparison_latex(comparison: Comparison, caption: str | None = None, label: str | None = None) -> str:
    """A comparison as a LaTeX table: best values bold, marks raised, and a legend in the caption."""

    def sign(run: str, measure: Measure) -> str:
        difference = comparison.difference(run, measure)
        return "" if difference is None else mark("stars").of(difference.corrected_p)

    said = f"{comparison.queries:,} queries. {_tested(comparison)} {mark('stars').legend}. Best values are bold."
    return _means_latex(comparison.evaluations, sign, f"{caption or 'Means'}. {said}", label)


def _means_latex(
    evaluations: Mapping[str, Evaluation], sign: Callable[[str, Measure], str], caption: str, label: str | None
) -> str:
    """The means of runs, with signs behind them; best values are bold where there are several runs."""
    measures = next(iter(evaluations.values())).measures
    rows = [["run", *(latex_text(str(measure)) for measure in measures)]]
    best = {}
    for measure in measures:
        means = [round(evaluation.mean(measure), FIGURES) for evaluation in evaluations.values()]
        best[measure] = (max if measure.higher_is_better else min)(means) if len(means) > 1 else None
    for run, evaluation in evaluations.items():
        row = [latex_text(run)]
        for measure in measures:
            text = cell_text(evaluation.mean(measure), Column("", digits=FIGURES))
            bold = round(evaluation.mean(measure), FIGURES) == best[measure]
            text = rf"\textbf{{{text}}}" if bold else latex_text(text)
            raised = latex_text(sign(run, measure))
            row.append(text + (rf"\textsuperscript{{{raised}}}" if raised else ""))
        rows.append(row)
    return latex_table(rows, "l" * len(rows[0]), caption=latex_text(caption), label=label)


def sweep_view(sweep: Sweep) -> View:
    """A row for each point, and the curves."""
    return View(sweep_table(sweep), list(sweep.warnings()), lambda: sweep_pictures(sweep).values())


def tuning_view(tuning: Any) -> View:
    """The settings, best first, and what to expect of the best (a `rankwell.pipelines.Tuning`)."""
    rows = [{name: "-" if value is None else value for name, value in row.items()} for row in tuning.rows()]
    table = tuning_table(rows, str(tuning.measure))
    chosen = ", ".join(f"{name}={value}" for name, value in tuning.best.setting.items())
    notes = [
        f"best on all queries: {chosen} ({tuning.best.value:.{FIGURES}f})",
        f"to expect on new queries ({len(tuning.folds)}-fold cross-validation): {tuning.cross_validated:.{FIGURES}f}",
    ]
    figures = replace(table, rows=[[_cell(row[column.name]) for column in table.columns] for row in rows])

    def pictures() -> list[Picture]:
        first = table.rows[:ROWS]
        labels = [", ".join(str(cell) for cell in row[:-2]) for row in first]
        values = {str(tuning.measure): [float(row[-2] or 0) for row in first]}
        return [bars(labels, values, title="Best settings", x=str(tuning.measure), digits=3)]

    return View(table, notes, pictures, figures)


def _cell(value: Any) -> Cell:
    return value if isinstance(value, int | float | str) or value is None else str(value)


def training_view(result: Any) -> View:
    """The measures before and after training (a `TrainingResult`), and the loss step by step."""
    names = list(result.measures)
    columns = [Column("validation", "left"), Column("before", digits=FIGURES), Column("after", digits=FIGURES)]
    rows: list[list[Cell]] = [[name, result.before.get(name), result.measures[name]] for name in names]
    early = ", stopped early" if result.stopped_early else ""
    kept = f", the weights after step {result.best:,} are kept" if result.best is not None else ""
    notes = [f"{result.steps:,} steps in {result.seconds:,.0f} s{early}{kept}", f"model: {result.folder.model}"]

    def pictures() -> list[Picture]:
        logged = [(line["step"], line["loss"]) for line in result.folder.metrics.lines() if "loss" in line]
        if not logged:
            return []
        steps, losses = zip(*logged, strict=True)
        return [lines([Line("loss", steps, losses)], title="Training loss", x="step", y="loss")]

    return View(Table(f"Training in {result.folder.path}", columns, rows), notes, pictures)
