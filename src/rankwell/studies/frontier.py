"""The frontier: what quality costs in latency, and which pipeline is the best within a budget of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rankwell.studies.cells import CellStore
from rankwell.studies.figures import Curve, Drawing, Figure, ResultRow
from rankwell.studies.plan import PlannedRow
from rankwell.studies.steps import Chain, Step

LATENCIES = ("p50 ms", "p95 ms", "p99 ms")
P95 = "p95 ms"


@dataclass(frozen=True)
class Frontier:
    """Rows with quality and latency, the picture, and what they mean."""

    columns: tuple[str, ...]
    rows: tuple[ResultRow, ...]
    drawings: tuple[Drawing, ...]
    notes: tuple[str, ...]
    advice: str = ""


@dataclass(frozen=True)
class Recommendation:
    """The best row within a budget of milliseconds, and the options that serve it."""

    row: str
    quality: float
    milliseconds: float
    options: str
    before: str = ""  # what must be done to the index first


def frontier_table(
    rows: Sequence[PlannedRow],
    quality: Mapping[str, Figure],
    store: CellStore,
    measure: str,
    limit: float | None = None,
) -> Frontier:
    """Quality beside latency for all rows; those that no other row beats in both are the frontier."""
    made: list[ResultRow] = []
    for row in rows:
        cell = row.latency or ""
        times = store.record(cell)["milliseconds"]
        told = {name: Figure(times[name.split()[0]], cell[:20], digits=1) for name in LATENCIES}
        made.append(ResultRow(row.row.name, row.row.line, {measure: quality[row.row.name], **told}, row.row.values))
    best = on_frontier({row.name: (row.figures[measure].value, row.figures[P95].value) for row in made})
    notes = (f"on the frontier (nothing is both better and quicker): {', '.join(best)}",)
    chains = {row.row.name: row.chain for row in rows}
    said = "" if limit is None else advice(recommended(made, chains, measure, limit), measure, limit)
    return Frontier((measure, *LATENCIES), tuple(made), (_drawing(made, best, measure),), notes, said)


def advice(found: Recommendation | None, measure: str, limit: float) -> str:
    """The recommendation in words, with the commands."""
    if found is None:
        return f"Nothing here answers 95 of 100 queries within {limit:g} ms."
    options = f" {found.options}" if found.options else ""
    model = next((part for part in options.split(" --") if part.startswith("rerank ")), "")
    commands = [found.before, f"rankwell search INDEX WORDS{options}"]
    serve = f"rankwell serve INDEX{f' --{model}' if model else ''}"
    figures = f"{measure} {found.quality:.4f}, 95 of 100 queries within {found.milliseconds:.0f} ms"
    return f"Within {limit:g} ms: {found.row} ({figures}): {'; '.join(filter(None, commands))}; as a server: {serve}"


def on_frontier(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names that no other beats in quality without being slower, quickest first."""
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
    found = Recommendation(best.name, best.figures[measure].value, best.figures[P95].value, "")
    return replace(found, options=serving(chains[best.name]), before=preparing(chains[best.name]))


def serving(chain: Chain) -> str:
    """The options of `rankwell search` and `rankwell rank` that ask for a line."""
    options: list[str] = []
    cut = None
    for step in chain:
        if step.kind == "top":
            cut = step["k"]
        options += _options(step.kind, step, cut)
    return " ".join(options)


def preparing(chain: Chain) -> str:
    """The commands that make the vectors of a line."""
    steps = [*chain, *(inner for step in chain for line in step.beside for inner in line)]
    made = dict.fromkeys(f"rankwell encode INDEX --model {step['model']}" for step in steps if step.kind == "dense")
    return "; ".join(made)


def _options(kind: str, step: Step, cut: int | None) -> list[str]:
    """Those of one step."""
    if kind == "bm25":
        weights = ",".join(f"{name}={weight:g}" for name, weight in step.weights.items())
        others = [f"--{name} {step[name]:g}" for name, usual in (("k1", 1.2), ("b", 0.75)) if step[name] != usual]
        return [*([f"--weights {weights}"] if weights else []), *others]
    if kind == "cross-encoder":
        return _of_reranker(step.settings, step["depth"] or cut)
    return {"rm3": ["--rm3"], "dense": ["--dense"], "fuse": ["--hybrid"]}.get(kind, [])


def _of_reranker(settings: Mapping[str, object], depth: int | None) -> list[str]:
    options = [f"--rerank {settings['model']}"]
    options += [f"--depth {depth}"] if depth else []
    options += [f"--{name} {settings[name]}" for name in ("passages", "aggregate", "precision") if settings[name]]
    return options + ([f"--document '{settings['document']}'"] if settings["document"] else [])


def _drawing(rows: Sequence[ResultRow], best: Sequence[str], measure: str) -> Drawing:
    """The frontier as a line; the others as lines of their models."""
    groups: dict[str, list[ResultRow]] = {}
    for row in rows:
        family = row.values.get("model") or row.name
        groups.setdefault(family, []).append(row)
    points = {"frontier": [row for name in best for row in rows if row.name == name], **groups}
    curves = []
    for name, members in points.items():
        ordered = sorted(members, key=lambda row: row.figures[P95].value)
        x = tuple(row.figures[P95].value for row in ordered)
        curves.append(Curve(name, x, tuple(row.figures[measure].value for row in ordered)))
    title, x_axis = f"{measure} against latency", "95th percentile of a query's milliseconds"
    return Drawing("frontier", title, x_axis, measure, tuple(curves))
