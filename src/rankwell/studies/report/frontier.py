"""The frontier of quality and latency, and the best pipeline within a time budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from types import MappingProxyType
from urllib.parse import urlencode

from rankwell.core.parameters import parameters
from rankwell.evaluation import parse_measure
from rankwell.retrieve import BM25
from rankwell.studies.file.study import TableEntry
from rankwell.studies.plan.cells import CellStore
from rankwell.studies.plan.data import Chosen
from rankwell.studies.plan.plan import PlannedRow
from rankwell.studies.report.figures import Curve, Drawing, Figure, Lines, ResultRow, ResultTable
from rankwell.studies.report.measured import SIZE, Measured, blank, figure_of, once, size_of, trained_folder
from rankwell.studies.run.jobs import INDEX
from rankwell.studies.steps import Bm25, Chain, CrossEncoderStep, Cut, DenseStep, Fuse, Rm3, Step
from rankwell.studies.steps.dense import vectors_name

LATENCIES = ("p50 ms", "p95 ms", "p99 ms")
P95 = "p95 ms"
ENCODED = ("model", "precision", "pooling", "document")  # settings that vectors depend on


@dataclass(frozen=True)
class Frontier:
    """Rows with quality and latency, the picture, and the advice."""

    columns: tuple[str, ...]
    rows: tuple[ResultRow, ...]
    drawings: tuple[Drawing, ...]
    notes: tuple[str, ...]
    advice: str = ""


@dataclass(frozen=True)
class Recommendation:
    """The best row within a budget of milliseconds, and its pipeline on the study's own index."""

    row: str
    quality: float
    milliseconds: float
    chain: Chain
    index: str = "INDEX"

    @property
    def search(self) -> str:
        """The command line of `rankwell search` for this pipeline."""
        return _joined(f"rankwell search {quote(self.index)} WORDS", *(f"--{n} {_told(v)}" for n, v in self._options))

    @property
    def serve(self) -> str:
        """The command line of `rankwell serve` for this pipeline."""
        model = dict(self._options).get("rerank")
        return _joined(f"rankwell serve {quote(self.index)}", f"--rerank {_told(model)}" if model else "")

    @property
    def request(self) -> str:
        """The request to the server, whose model is set already."""
        asked = [("q", "WORDS"), *((n, v if v is not True else "true") for n, v in self._options if n != "rerank")]
        return f"/api/search?{urlencode(asked)}"

    @property
    def before(self) -> str:
        """The commands that another index needs first."""
        steps = [*self.chain, *(inner for step in self.chain for line in step.beside for inner in line)]
        dense = [step for step in steps if step.kind == DenseStep.name]
        told = (_joined(*(f"--{name} {_told(step[name])}" for name in ENCODED if step[name])) for step in dense)
        return "; ".join(dict.fromkeys(f"rankwell encode INDEX {options}" for options in told))

    @property
    def _options(self) -> list[tuple[str, object]]:
        return serving(self.chain)


def frontier_table(
    rows: Sequence[PlannedRow],
    quality: Mapping[str, Mapping[str, Figure]],
    store: CellStore,
    measure: str,
    limit: float | None = None,
) -> Frontier:
    """Quality and latency of all rows; those that no other row beats in both are the frontier."""
    made: list[ResultRow] = []
    for row in rows:
        cell = row.latency or ""
        times = store.record(cell)["milliseconds"]
        told = {name: Figure(times[name.split()[0]], cell[:20], digits=1) for name in LATENCIES}
        made.append(ResultRow(row.row.name, row.row.line, {**quality[row.row.name], **told}, row.row.values))
    best = on_frontier({row.name: (row.figures[measure].value, row.figures[P95].value) for row in made})
    notes = (f"on the frontier (nothing is both better and quicker): {', '.join(best)}",)
    said = ""
    if limit is not None:
        chains = {row.row.name: row.chain for row in rows}
        found = recommended(made, chains, measure, limit)
        index = store.path(store.record(rows[0].place.key)["parents"][0]) / INDEX
        said = advice(found and replace(found, index=str(index)), measure, limit)
    return Frontier((measure, *LATENCIES, *SIZE), tuple(made), (_drawing(made, best, measure),), notes, said)


def advice(found: Recommendation | None, measure: str, limit: float) -> str:
    """The recommendation in words, with the commands."""
    if found is None:
        return f"Nothing here answers 95 of 100 queries within {limit:g} ms."
    figures = f"{measure} {found.quality:.4f}, 95 of 100 queries within {found.milliseconds:.0f} ms"
    before = f"; another index needs its vectors first: {found.before}" if found.before else ""
    return (
        f"Within {limit:g} ms: {found.row} ({figures}). On the study's own index: {found.search}; as a server: "
        f"{found.serve}; asked with {found.request}{before}"
    )


def on_frontier(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names on the Pareto frontier of (quality, latency), fastest first."""
    found: list[str] = []
    highest = float("-inf")
    for name, (quality, _) in sorted(points.items(), key=lambda item: (item[1][1], -item[1][0])):
        if quality > highest:
            found.append(name)
            highest = quality
    return found


def recommended(
    rows: Sequence[ResultRow], chains: Mapping[str, Chain], measure: str, limit: float
) -> Recommendation | None:
    """The best row whose 95th percentile is within the limit; None where all are slower."""
    within = [row for row in rows if row.figures[P95].value <= limit]
    if not within:
        return None
    best = max(within, key=lambda row: (row.figures[measure].value, -row.figures[P95].value))
    return Recommendation(best.name, best.figures[measure].value, best.figures[P95].value, chains[best.name])


def serving(chain: Chain) -> list[tuple[str, object]]:
    """The options of `rankwell search`, of `rankwell rank` and of the REST API that ask for a line."""
    options: list[tuple[str, object]] = []
    cut = None
    for step in chain:
        cut = step["k"] if step.kind == Cut.name else cut
        options += OPTIONS[step.kind](step, cut) if step.kind in OPTIONS else []
    return options


def _of_bm25(step: Step, cut: int | None) -> list[tuple[str, object]]:  # noqa: ARG001 -- it begins
    weights = ",".join(f"{name}={weight:g}" for name, weight in step.weights.items())
    others = [(name, f"{step[name]:g}") for name in ("k1", "b") if step[name] != parameters(BM25)[name].default]
    return [*([("weights", weights)] if weights else []), *others]


def _of_dense(step: Step, cut: int | None) -> list[tuple[str, object]]:  # noqa: ARG001 -- it begins
    return [("dense", True), ("vectors", vectors_name(step))]


def _of_fusion(step: Step, cut: int | None) -> list[tuple[str, object]]:  # noqa: ARG001 -- it begins
    """Reciprocal rank fusion of BM25 and vectors as options of a hybrid search."""
    inner = [one for line in step.beside for one in line if one.kind == DenseStep.name]
    return [("hybrid", True), *(("vectors", vectors_name(one)) for one in inner[:1])]


def _of_reranker(step: Step, cut: int | None) -> list[tuple[str, object]]:
    depth = step["depth"] or cut
    found: list[tuple[str, object]] = [("rerank", step["model"]), *([("depth", depth)] if depth else [])]
    return found + [(name, step[name]) for name in ("passages", "aggregate", "precision", "document") if step[name]]


Options = Callable[[Step, int | None], list[tuple[str, object]]]
OPTIONS: Mapping[str, Options] = MappingProxyType(
    {
        Bm25.name: _of_bm25,
        Rm3.name: lambda _step, _cut: [("rm3", True)],
        DenseStep.name: _of_dense,
        Fuse.name: _of_fusion,
        CrossEncoderStep.name: _of_reranker,
    }
)


def _told(value: object) -> str:
    """A value for a command line; empty for a flag."""
    return "" if value is True else quote(str(value))


def _joined(*parts: str) -> str:
    return " ".join(part.strip() for part in parts if part)


def _drawing(rows: Sequence[ResultRow], best: Sequence[str], measure: str) -> Drawing:
    """A chart of the frontier, and of families of rows that differ only in a number, such as the depth."""
    groups: dict[str, list[ResultRow]] = {}
    for row in rows:
        groups.setdefault(_family(row), []).append(row)
    points = {"frontier": [row for name in best for row in rows if row.name == name], **groups}
    curves = []
    for name, members in points.items():
        ordered = sorted(members, key=lambda row: row.figures[P95].value)
        x = tuple(row.figures[P95].value for row in ordered)
        curves.append(Curve(name, x, tuple(row.figures[measure].value for row in ordered)))
    title, x_axis = f"{measure} against latency", "95th percentile of a query's milliseconds"
    return Lines("frontier", title, x_axis, measure, tuple(curves))


def _family(row: ResultRow) -> str:
    """A row's name with its varying numbers replaced by X."""
    found = row.name
    for value in row.values.values():
        found = re.sub(rf"(?<![\w:.-]){value}(?![\w:.-])", "X", found) if value.isdecimal() else found
    return found


def quality_and_latency(
    measured: Measured, table: TableEntry, chosen: Chosen, rows: Sequence[PlannedRow]
) -> ResultTable:
    """A table of quality and latency of every row, with advice on what to serve."""
    found = measured.compared(table, rows)
    name = str(parse_measure(table.measures[0]))
    quality = {
        row.row.name: {name: figure_of(found, row, name, measured.marks(table)), **size_of(measured, row)}
        for row in rows
    }
    served = [replace(row, chain=_with_folders(measured, row)) for row in rows]
    told = frontier_table(served, quality, measured.store, name, measured.latency)
    notes = [*told.notes, *found.warnings(), *measured.left_out(table, chosen)]
    ordered = measured.in_order(table, told.rows)
    empty = blank(table, chosen.name, found.queries)
    made = replace(empty, columns=told.columns, rows=ordered, notes=once(notes))
    return replace(made, drawings=told.drawings, advice=told.advice)


def _with_folders(measured: Measured, row: PlannedRow) -> Chain:
    """The row's line with the folders of the models that the study trained in place of their names."""
    steps = []
    for step in row.chain:
        folder = trained_folder(measured, row, str(step.settings.get("model")))
        steps.append(replace(step, settings={**step.settings, "model": str(folder)}) if folder else step)
    return tuple(steps)
