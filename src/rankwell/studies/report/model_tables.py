"""Tables about models: how their training went, step by step, and the scores that they give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from rankwell.evaluation.judged import Pool, join
from rankwell.evaluation.run_analysis import auc, score_distribution
from rankwell.models.learning.run_folder import MetricsLog
from rankwell.report.pictures import Line, lines, spread
from rankwell.studies.file.study import TableEntry
from rankwell.studies.plan.cells import SHORT
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.plan.plan import PlannedRow
from rankwell.studies.recipes.training import METRICS
from rankwell.studies.report.finished import Drawing, Figure, FinishedStudy, ResultRow, ResultTable, result_table
from rankwell.studies.steps import all_steps, model_of

LOSS, VALIDATION_LOSS = "loss", "validation loss"
Points = list[tuple[float, float]]  # step and value


def curves_table(study: FinishedStudy, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """The last value of each loss and measure that training wrote down, and their curves over the steps."""
    made: list[ResultRow] = []
    curves: dict[str, list[Line]] = {}
    notes: list[str] = []
    for row in rows:
        for model, cell in _trained(study, row):
            known = followed(MetricsLog(study.store.path(cell) / METRICS).lines())
            if not known:
                notes.append(
                    f"{model}: nothing was written down while it was trained (it has no steps, or it is older)"
                )
                continue
            figures = {"steps": Figure(max(points[-1][0] for points in known.values()), cell[:SHORT], digits=0)}
            for name, points in known.items():
                steps, values = zip(*points, strict=True)
                figures[name] = Figure(values[-1], cell[:SHORT])
                curves.setdefault(name, []).append(Line(row.row.name, list(steps), list(values)))
            made.append(ResultRow(row.row.name, row.row.line, figures, row.row.values))
    made = [row.with_published(table.published.get(row.name, {})) for row in made]
    columns = tuple(dict.fromkeys(name for row in made for name in row.figures))
    drawings = tuple(
        partial(lines, of, title=f"{name} while training", x="step", y=name) for name, of in curves.items()
    )
    content = {"columns": columns, "rows": study.in_order(table, made), "drawings": drawings}
    queries = len(study.judgments(rows[0], table.part))
    return result_table(table, chosen.name, queries, **content, notes=[*notes, *study.notes(table, chosen)])


def followed(metrics: Sequence[dict[str, Any]]) -> dict[str, Points]:
    """The points of each loss and each validation measure, in the order in which training wrote them down."""
    known: dict[str, Points] = {}
    for line in metrics:
        for name, value in _values(line):
            if value is not None and np.isfinite(value):
                known.setdefault(name, []).append((float(line["step"]), float(value)))
    return known


def _values(line: dict[str, Any]) -> Iterator[tuple[str, float | None]]:
    if LOSS in line:
        yield LOSS, line[LOSS]
    for name, value in (line.get("validation") or {}).items():
        yield VALIDATION_LOSS if name == LOSS else name, value


def _trained(study: FinishedStudy, row: PlannedRow) -> Iterator[tuple[str, str]]:
    """The models of a row that the study trained, with their cells."""
    for step in all_steps(row.chain):
        use = None if step.beside else model_of(step)
        cell = None if use is None else study.trained_cell(row, use.name)
        if use is not None and cell is not None:
            yield use.name, cell


def scores_table(study: FinishedStudy, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]) -> ResultTable:
    """How far apart a row's scores of relevant and of other judged documents are, with a picture of both."""
    judgments = study.judgments(rows[0], table.part)
    pool, runs = Pool.of(judgments), study.runs(rows, judgments)
    made: list[ResultRow] = []
    drawings: list[Drawing] = []
    for row in rows:
        judged, cell = join(judgments, runs[row.row.name], pool, row.row.name), row.run.key[:SHORT]
        scores = score_distribution(judged)
        kinds = {"relevant": scores.relevant, "not relevant": scores.not_relevant}
        figures = {f"mean, {name}": Figure(float(np.mean(of)), cell) for name, of in kinds.items() if len(of)}
        area = auc(judged.relevant(), judged.score)
        figures |= {"AUC of returned": Figure(area, cell)} if np.isfinite(area) else {}
        figures |= {f"{name} documents": Figure(len(of), cell, digits=0) for name, of in kinds.items()}
        result = ResultRow(row.row.name, row.row.line, figures, row.row.values)
        made.append(result.with_published(table.published.get(row.row.name, {})))
        if any(len(of) for of in kinds.values()):
            drawings.append(partial(spread, kinds, title=f"Scores of {row.row.name}", x="score"))
    columns = tuple(dict.fromkeys(name for row in made for name in row.figures))
    content = {"columns": columns, "rows": study.in_order(table, made), "drawings": tuple(drawings)}
    return result_table(table, chosen.name, len(judgments), **content, notes=study.notes(table, chosen))
