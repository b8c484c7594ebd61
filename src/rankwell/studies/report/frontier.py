"""The frontier of quality and latency, and the best pipeline within a time budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from shlex import quote
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from rankwell.core.parameters import parameters
from rankwell.evaluation import parse_measure
from rankwell.report.pictures import Line, lines
from rankwell.retrieve import BM25
from rankwell.studies.file.study import TableEntry
from rankwell.studies.plan.cells import SHORT
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.plan.plan import PlannedRow
from rankwell.studies.report.finished import SIZE, Drawing, Figure, FinishedStudy, ResultRow, ResultTable, result_table
from rankwell.studies.run.jobs import INDEX
from rankwell.studies.steps import Chain, Step, all_steps
from rankwell.studies.steps.kinds import CROSS_ENCODER, CUT, FEEDBACK, FUSE, VECTORS, WORDS, vectors_name

LATENCIES = ("p50 ms", "p95 ms", "p99 ms")
P95 = "p95 ms"
ENCODED = ("model", "precision", "pooling", "document")  # settings that vectors depend on
Options = list[tuple[str, object]]


@dataclass(frozen=True)
class Recommendation:
    """The best row within a budget of milliseconds, and its pipeline on the study's own index."""

    row: str
    quality: float
    milliseconds: float
    chain: Chain
    index: str = "INDEX"
    models: Mapping[str, str] = field(default_factory=dict)  # folders of models that the study trained

    @property
    def search(self) -> str:
        """The command line of `rankwell search` for this pipeline."""
        return " ".join([f"rankwell search {quote(self.index)} WORDS", *(_option(*of) for of in self._options)])

    @property
    def serve(self) -> str:
        """The command line of `rankwell serve` for this pipeline."""
        model = dict(self._options).get("rerank")
        return f"rankwell serve {quote(self.index)}" + (f" {_option('rerank', model)}" if model else "")

    @property
    def request(self) -> str:
        """The request to the server, whose model is set already."""
        asked = [("q", "WORDS"), *((n, v if v is not True else "true") for n, v in self._options if n != "rerank")]
        return f"/api/search?{urlencode(asked)}"

    @property
    def before(self) -> str:
        """The commands that another index needs first."""
        commands = []
        for step in all_steps(self.chain):
            if step.kind == VECTORS:
                given = {**step.settings, "model": self.models.get(step["model"], step["model"])}
                options = " ".join(_option(name, given[name]) for name in ENCODED if given[name])
                commands.append(f"rankwell encode INDEX {options}")
        return "; ".join(dict.fromkeys(commands))

    @property
    def _options(self) -> Options:
        return serving(self.chain, self.models)


def advice(best: Recommendation | None, measure: str, limit: float) -> str:
    """The recommendation in words, with the commands."""
    if best is None:
        return f"Nothing here answers 95 of 100 queries within {limit:g} ms."
    figures = f"{measure} {best.quality:.4f}, 95 of 100 queries within {best.milliseconds:.0f} ms"
    before = f"; another index needs its vectors first: {best.before}" if best.before else ""
    return (
        f"Within {limit:g} ms: {best.row} ({figures}). On the study's own index: {best.search}; as a server: "
        f"{best.serve}; asked with {best.request}{before}"
    )


def on_frontier(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names on the Pareto frontier of (quality, latency), fastest first."""
    frontier: list[str] = []
    highest = float("-inf")
    for name, (quality, _) in sorted(points.items(), key=lambda item: (item[1][1], -item[1][0])):
        if quality > highest:
            frontier.append(name)
            highest = quality
    return frontier


def recommended(
    rows: Sequence[ResultRow], chains: Mapping[str, Chain], measure: str, limit: float
) -> Recommendation | None:
    """The best row whose 95th percentile is within the limit; None where all are slower."""
    within = [row for row in rows if row.figures[P95].value <= limit]
    if not within:
        return None
    best = max(within, key=lambda row: (row.figures[measure].value, -row.figures[P95].value))
    return Recommendation(best.name, best.figures[measure].value, best.figures[P95].value, chains[best.name])


def serving(chain: Chain, models: Mapping[str, str] = MappingProxyType({})) -> Options:
    """The options of `rankwell search`, of `rankwell rank` and of the REST API that ask for a line.

    `models`: the folders of the models that the study trained.
    """
    options: Options = []
    cut = None
    for step in chain:
        cut = step["k"] if step.kind == CUT else cut
        options += OPTIONS[step.kind](step, cut, models) if step.kind in OPTIONS else []
    return options


def _of_bm25(step: Step, _cut: int | None, _models: Mapping[str, str]) -> Options:
    weights = ",".join(f"{name}={weight:g}" for name, weight in step.weights.items())
    others = [(name, f"{step[name]:g}") for name in ("k1", "b") if step[name] != parameters(BM25)[name].default]
    return [*([("weights", weights)] if weights else []), *others]


def _of_fusion(step: Step, _cut: int | None, models: Mapping[str, str]) -> Options:
    """Reciprocal rank fusion of BM25 and vectors as options of a hybrid search."""
    inner = [one for line in step.beside for one in line if one.kind == VECTORS]
    return [("hybrid", True), *(("vectors", vectors_name(one, models)) for one in inner[:1])]


def _of_reranker(step: Step, cut: int | None, models: Mapping[str, str]) -> Options:
    depth = step["depth"] or cut
    model = models.get(step["model"], step["model"])
    others = [(name, step[name]) for name in ("passages", "aggregate", "precision", "document") if step[name]]
    return [("rerank", model), *([("depth", depth)] if depth else []), *others]


OPTIONS: Mapping[str, Callable[[Step, int | None, Mapping[str, str]], Options]] = MappingProxyType(
    {
        WORDS: _of_bm25,
        FEEDBACK: lambda _step, _cut, _models: [("rm3", True)],
        VECTORS: lambda step, _cut, models: [("dense", True), ("vectors", vectors_name(step, models))],
        FUSE: _of_fusion,
        CROSS_ENCODER: _of_reranker,
    }
)


def _option(name: str, value: object) -> str:
    """An option of a command line; a flag has no value."""
    return f"--{name}" if value is True else f"--{name} {quote(str(value))}"


def _drawing(rows: Sequence[ResultRow], best: Sequence[str], measure: str) -> Drawing:
    """A chart of the frontier, and of families of rows that differ only in a number, such as the depth."""
    groups: dict[str, list[ResultRow]] = {}
    for row in rows:
        groups.setdefault(_family(row), []).append(row)
    points = {"frontier": [row for name in best for row in rows if row.name == name], **groups}
    curves = []
    for name, members in points.items():
        ordered = sorted((row.figures[P95].value, row.figures[measure].value) for row in members)
        curves.append(Line(name, [x for x, _ in ordered], [y for _, y in ordered]))
    title, x_axis = f"{measure} against latency", "95th percentile of a query's milliseconds"
    return partial(lines, curves, title=title, x=x_axis, y=measure)


def _family(row: ResultRow) -> str:
    """A row's name with its varying numbers replaced by X."""
    family = row.name
    for value in filter(str.isdecimal, row.values.values()):
        family = re.sub(rf"(?<![\w:.-]){value}(?![\w:.-])", "X", family)
    return family


def quality_and_latency(
    study: FinishedStudy, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]
) -> ResultTable:
    """A table of quality and latency of every row, with advice on what to serve.

    The rows that no other row beats in both are the frontier.
    """
    compared, measure = study.compared(table, rows), str(parse_measure(table.measures[0]))
    made: list[ResultRow] = []
    controls: list[ResultRow] = []
    for row in rows:
        cell = row.latency or ""
        figures = {measure: study.figure(compared, row, measure, table), **study.size(row)}
        if not row.control:
            times = study.store.record(cell)["milliseconds"]
            figures |= {name: Figure(times[name.split()[0]], cell[:SHORT], digits=1) for name in LATENCIES}
        (controls if row.control else made).append(ResultRow(row.row.name, row.row.line, figures, row.row.values))
    best = on_frontier({row.name: (row.figures[measure].value, row.figures[P95].value) for row in made})
    notes = [f"on the frontier (nothing is both better and quicker): {', '.join(best)}"]
    content: dict[str, Any] = {
        "columns": (measure, *LATENCIES, *SIZE),
        "rows": study.in_order(table, [*made, *controls]),
        "notes": [*notes, *compared.warnings(), *study.notes(table, chosen)],
        "drawings": (_drawing(made, best, measure),),
    }
    if study.latency is not None:
        recommendation = recommended(made, {row.row.name: row.chain for row in rows}, measure, study.latency)
        if recommendation is not None:
            row = next(row for row in rows if row.row.name == recommendation.row)
            index = study.store.path(study.store.record(row.run.key)["parents"][0]) / INDEX
            names = {str(step.settings.get("model")) for step in all_steps(row.chain)}
            folders = {name: folder for name in names if (folder := study.trained_folder(row, name))}
            models = {name: str(folder) for name, folder in folders.items()}
            recommendation = replace(recommendation, index=str(index), models=models)
        content["advice"] = advice(recommendation, measure, study.latency)
    return result_table(table, chosen.name, compared.queries, **content)
