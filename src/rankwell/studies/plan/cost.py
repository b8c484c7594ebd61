"""The estimated cost of a study: pairs and documents for each model, hours, disk."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rankwell.core import Template
from rankwell.models.learning.settings import USUAL_TOKENS
from rankwell.studies.plan.cells import Cell, CellStore
from rankwell.studies.plan.data import Chosen
from rankwell.studies.plan.plan import Plan
from rankwell.studies.recipes.kinds import DISTIL, UNLABELLED
from rankwell.studies.recipes.recipes import HARD, INSIDE, PairStep
from rankwell.studies.recipes.training import TrainJob
from rankwell.studies.run.jobs import IndexJob, LatencyJob, RunJob, VectorsJob
from rankwell.studies.steps import STEPS, Step, chain_of
from rankwell.studies.steps.dense import BI_ENCODER
from rankwell.studies.steps.rerankers import CROSS_ENCODER

MUCH_SECONDS = 15 * 60
MUCH_BYTES = 2 << 30
OTHER_SECONDS = 1.0  # an index, BM25 over some queries: too fast to count
PROBES = 16  # texts for timing a model
TRAINED_PAIRS = 10.0  # pairs per second, of a small model on few cores
UNKNOWN_PAIRS = 5000
PASSAGES = 3  # bytes of a document, where unknown
DEEPEST = 1000
RUN_BYTES, DOCUMENT_BYTES, VECTOR_BYTES = 50, 6000, 800


@dataclass(frozen=True)
class Cost:
    """The work of one model, and its time at the measured speed."""

    model: str
    unit: str
    amount: int
    per_second: float

    @property
    def seconds(self) -> float:
        """Estimated time of this work."""
        return self.amount / self.per_second


@dataclass(frozen=True)
class Estimate:
    """The remaining cost of a study."""

    cells: int
    finished: int
    costs: tuple[Cost, ...]
    bytes: int

    @property
    def seconds(self) -> float:
        """Estimated time in seconds."""
        return sum(cost.seconds for cost in self.costs) + OTHER_SECONDS * self.cells

    @property
    def is_much(self) -> bool:
        """Whether the user should be asked first."""
        return self.seconds > MUCH_SECONDS or self.bytes > MUCH_BYTES

    def told(self) -> list[str]:
        """A line for each model, and one for the total."""
        lines = [
            f"{cost.model}: {cost.amount:,} {cost.unit} at {cost.per_second:,.0f}/s, {duration(cost.seconds)}"
            for cost in self.costs
        ]
        done = f" ({self.finished:,} more are finished)" if self.finished else ""
        disk = f"{self.bytes / 1e6:,.0f} MB" if self.bytes >= 1e6 else "less than 1 MB"  # noqa: PLR2004 -- a megabyte
        return [*lines, f"{self.cells:,} cells to do{done}: about {duration(self.seconds)}, {disk} of disk"]


def duration(seconds: float) -> str:
    """Seconds as text: `40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:  # noqa: PLR2004 -- people say "90 seconds" and then "2 minutes"
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"


def estimate(plan: Plan, store: CellStore, threads: int) -> Estimate:
    """Estimate the unfinished cells, at speeds of earlier cells or of a short trial."""
    todo = [cell for cell in plan.cells.values() if not store.finished(cell.key)]
    by_index = {row.collection.facts.fingerprint: row.collection for row in plan.rows}
    amounts: dict[tuple[str, str], int] = {}
    samples: dict[tuple[str, str], tuple[Step, Chosen]] = {}
    for cell in todo:
        step, chosen = _model_step(cell), _chosen(cell, plan, by_index)
        if step is None or chosen is None:
            continue
        use = STEPS[step.kind].model(step)
        if use is not None:
            amounts[use.name, use.role] = amounts.get((use.name, use.role), 0) + _amount(cell, chosen)
            samples.setdefault((use.name, use.role), (step, chosen))
    known = _known_speeds(store)
    trained = plan.file.models()
    training = [(cell.job, cell.title) for cell in todo if isinstance(cell.job, TrainJob)]
    costs = [_training(job, title) for job, title in training]
    for job, _ in training:
        for teacher, pairs, sample in _taught(job):
            amounts[teacher, CROSS_ENCODER] = amounts.get((teacher, CROSS_ENCODER), 0) + pairs
            samples.setdefault((teacher, CROSS_ENCODER), sample)
    for (model, role), amount in amounts.items():
        speed = known.get((model, role), 0.0)
        if not speed:  # the speed of a model that is not trained yet is unknown
            speed = float(PROBES) if model in trained else _probe(*samples[model, role], role, threads)
        costs.append(Cost(model, "pairs" if role == CROSS_ENCODER else "texts", amount, speed))
    return Estimate(len(todo), len(plan.cells) - len(todo), tuple(costs), _disk(todo, plan, by_index))


def _training(job: TrainJob, title: str) -> Cost:
    """The pairs seen in training, at a typical speed."""
    return Cost(title, "pairs to train on", _seen(job), TRAINED_PAIRS)


def _seen(job: TrainJob) -> int:
    """Number of pairs seen in training, over all epochs."""
    told = job.recipe.settings
    if told.get("steps"):
        return int(told["steps"]) * int(told["batch_size"])
    return round(_pairs(job) * float(told.get("epochs", 0.1)))


def _pairs(job: TrainJob) -> int:
    """Estimated number of pairs."""
    return sum(_made(step, source.chosen) for step, source in zip(job.recipe.pairs, job.sources, strict=True))


def _made(step: PairStep, chosen: Chosen) -> int:
    if step.kind != UNLABELLED or chosen.taught is None:
        return int(step["limit"] or UNKNOWN_PAIRS)
    from rankwell.training.labelled import ALL, Negatives

    wanted = Negatives.parse(step["negatives"], step["depth"])
    documents = sum(min(chosen.held, wanted.depth if count == ALL else count) for _, count in wanted.counts)
    pairs = chosen.taught * documents * (PASSAGES if step["passages"] else 1)
    return min(pairs, step["limit"] or pairs)


def _taught(job: TrainJob) -> Iterator[tuple[str, int, tuple[Step, Chosen]]]:
    """The teacher's work: every pair once, or at every step where a loss needs its states."""
    if job.recipe.training != DISTIL:
        return
    from rankwell.models.distillation.training import parse_weights, weights_of

    told = job.recipe.settings
    losses = set(weights_of(told["method"], parse_weights(told["weights"])))
    if losses == {HARD}:
        return
    pairs = _seen(job) if losses & INSIDE else _pairs(job)
    tokens = told["max_tokens"] or USUAL_TOKENS
    line = chain_of(f"bm25 | cross-encoder('{told['teacher']}', max_tokens={tokens})", {})
    yield told["teacher"], pairs, (line[-1], job.sources[0].chosen)


def _model_step(cell: Cell) -> Step | None:
    """The step of a cell that runs a model over many texts."""
    job = cell.job
    if isinstance(job, VectorsJob):
        return job.step
    if isinstance(job, RunJob) and job.step.kind == CROSS_ENCODER:
        return job.step
    if isinstance(job, LatencyJob):
        return next((step for step in job.chain if step.kind == CROSS_ENCODER), None)
    return None


def _chosen(cell: Cell, plan: Plan, known: Mapping[str, Chosen]) -> Chosen | None:
    """The collection of a cell."""
    ground = getattr(cell.job, "ground", None)
    index = plan.cells.get(ground.index) if ground is not None else None
    return known.get(str(index.job.configuration()["data"])) if index is not None else None


def _amount(cell: Cell, chosen: Chosen) -> int:
    """Number of pairs or texts: an upper bound, because a query may find fewer documents."""
    job = cell.job
    if isinstance(job, VectorsJob):
        return chosen.held
    if isinstance(job, LatencyJob):
        return job.queries * next((step["k"] for step in job.chain if step.kind == "top"), DEEPEST)
    assert isinstance(job, RunJob)  # noqa: S101 -- no other job has a model
    passages = PASSAGES if job.step.settings.get("passages") else 1
    if job.before and job.before[0].kind == "judged":
        return chosen.facts.judgments * chosen.asked // max(1, chosen.facts.queries) * passages
    cut = (job.given.cut if job.given else None) or min(DEEPEST, chosen.held)
    return chosen.asked * min(cut, job.step.settings.get("depth") or cut) * passages


def _known_speeds(store: CellStore) -> dict[tuple[str, str], float]:
    """Speeds measured by finished cells; the last one counts."""
    found: dict[tuple[str, str], float] = {}
    for record in store.records():
        model = record["configuration"].get("model")
        if record.get("pairs_per_second"):
            found[str(model), CROSS_ENCODER] = record["pairs_per_second"]
        if record.get("encode_seconds"):
            found[str(model), BI_ENCODER] = max(record["documents"], 1) / record["encode_seconds"]
    return found


def _probe(step: Step, chosen: Chosen, role: str, threads: int) -> float:
    """Texts or pairs a second, measured on the first documents of the collection."""
    from rankwell.models.base import TextEncoder
    from rankwell.models.cross_encoder.ranking import load_scorer

    queries, judgments = chosen.judged()
    template = None if step["document"] is None else Template(step["document"])
    documents = islice(chosen.texts(judgments), PROBES)
    texts = [document.text() if template is None else template.fill(document) for document in documents]
    if role == BI_ENCODER:
        encoder = TextEncoder(step["model"], precision=step["precision"], threads=threads)
        encoder.encode(texts[:2])
        begun = time.perf_counter()
        encoder.encode(texts)
    else:
        try:
            scorer = load_scorer(
                step["model"], max_tokens=step["max_tokens"], precision=step["precision"], threads=threads
            )
            asked = next(iter(queries.values())).text()
            scorer.logits([(asked, text) for text in texts[:2]])
            begun = time.perf_counter()
            scorer.logits([(asked, text) for text in texts])
        except (OSError, KeyError):  # a kind of model that does not score single pairs
            return float(PROBES)
    return len(texts) / max(time.perf_counter() - begun, 1e-6)


def _disk(todo: Sequence[Cell], plan: Plan, known: Mapping[str, Chosen]) -> int:
    """Rough size in bytes: indexes and vectors by documents, runs by lines."""
    total = 0
    for cell in todo:
        chosen = _chosen(cell, plan, known)
        if isinstance(cell.job, VectorsJob) and chosen is not None:
            total += VECTOR_BYTES * chosen.held
        elif isinstance(cell.job, RunJob) and chosen is not None:
            cut = cell.job.given.cut if cell.job.given else None
            total += RUN_BYTES * chosen.asked * min(cut or DEEPEST, chosen.held)
        elif isinstance(cell.job, IndexJob):
            total += DOCUMENT_BYTES * cell.job.chosen.held
    return total
