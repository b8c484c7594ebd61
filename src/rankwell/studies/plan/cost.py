"""The estimated cost of a study: pairs and documents for each model, hours, disk."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rankwell.core import RankwellError, Template
from rankwell.models.base import TextEncoder
from rankwell.models.cross_encoder.ranking import load_scorer
from rankwell.models.learning.settings import USUAL_TOKENS
from rankwell.studies.file.reading import NONE, ExperimentFile
from rankwell.studies.plan.cells import Cell, CellStore
from rankwell.studies.plan.collections import Chosen, CollectionFinder
from rankwell.studies.plan.plan import Plan, make_plan
from rankwell.studies.recipes.recipe import DISTIL, DOCUMENTS, HARD, INSIDE, UNLABELLED, DataStep
from rankwell.studies.recipes.training import TrainJob
from rankwell.studies.run.jobs import IndexJob, LatencyJob, RunJob, VectorsJob
from rankwell.studies.steps import Step, chain_of, model_of
from rankwell.studies.steps.kinds import BI_ENCODER, CROSS_ENCODER, CUT, JUDGED, MODELLED, depth_of
from rankwell.training.labelled import ALL, Negatives

MUCH_SECONDS = 15 * 60
MUCH_BYTES = 2 << 30
WHOLE = "the study as its file has it"
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

    def lines(self) -> list[str]:
        """A line for each model, and one for the total."""
        lines = [
            f"{cost.model}: {cost.amount:,} {cost.unit} at {cost.per_second:,.0f}/s, {duration(cost.seconds)}"
            for cost in self.costs
        ]
        done = f" ({self.finished:,} more are finished)" if self.finished else ""
        disk = f"{self.bytes / 1e6:,.0f} MB" if self.bytes >= 1e6 else "less than 1 MB"  # noqa: PLR2004 -- a megabyte
        return [*lines, f"{self.cells:,} cells to do{done}: about {duration(self.seconds)}, {disk} of disk"]


@dataclass(frozen=True)
class BudgetCost:
    """What one version of a study would take here; `why` says why it cannot be run."""

    budget: str
    about: str
    estimate: Estimate | None = None
    left_out: int = 0  # rows that cannot be run here
    reasons: tuple[str, ...] = ()  # why not
    missing: tuple[str, ...] = ()  # collections
    why: str = ""


def costs(
    file: ExperimentFile, finder: CollectionFinder, store: CellStore, threads: int, *, fetch: bool = False
) -> Iterator[BudgetCost]:
    """The cost of each budget of a study, and of the study itself, which has none.

    Collections of ir_datasets must be fetched to be counted; without `fetch` a budget that names some has no figures.
    """
    for name in (*file.study.budget, None):
        within, about = file.within(name), file.study.budget[name].about if name else WHOLE
        remote = [one.name for one in within.study.collection if finder.is_fetched(one)]
        if remote and not fetch:
            yield BudgetCost(name or NONE, about, why=f"must be fetched to be counted (--fetch): {', '.join(remote)}")
            continue
        try:
            plan = make_plan(within, finder)
            work = estimate(plan, store, threads)
        except RankwellError as error:
            yield BudgetCost(name or NONE, about, why=str(error))
            continue
        reasons = tuple(dict.fromkeys(left.why for left in plan.left_out))
        yield BudgetCost(name or NONE, about, work, len(plan.left_out), reasons, tuple(plan.missing))


def duration(seconds: float) -> str:
    """Seconds as text: `40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:  # noqa: PLR2004 -- people say "90 seconds" and then "2 minutes"
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"


ModelRole = tuple[str, str]  # a model, and what it is used as


def estimate(plan: Plan, store: CellStore, threads: int) -> Estimate:
    """Estimate the unfinished cells, at speeds of earlier cells or of a short trial."""
    todo = [cell for cell in plan.cells.values() if not store.finished(cell.key)]
    amounts: Counter[ModelRole] = Counter()
    samples: dict[ModelRole, tuple[Step, Chosen]] = {}
    costs: list[Cost] = []
    for cell in todo:
        step, chosen = _model_step(cell), _chosen(cell, plan)
        use = None if step is None else model_of(step)
        if step is not None and use is not None and chosen is not None:
            amounts[use.name, use.role] += _amount(cell, chosen)
            samples.setdefault((use.name, use.role), (step, chosen))
        if isinstance(cell.job, TrainJob):
            unit = DOCUMENTS if cell.job.recipe.data[0].kind == DOCUMENTS else "pairs"
            costs.append(Cost(cell.title, f"{unit} to train on", _seen(cell.job), TRAINED_PAIRS))
            pairs, teacher = _taught(cell.job), str(cell.job.recipe.settings.get("teacher"))
            if pairs:
                amounts[teacher, CROSS_ENCODER] += pairs
                samples.setdefault((teacher, CROSS_ENCODER), _teacher(cell.job))
    known, trained = _known_speeds(store), plan.file.models()
    for (model, role), amount in amounts.items():
        speed = known.get((model, role), 0.0)
        if not speed:  # the speed of a model that is not trained yet is unknown
            speed = float(PROBES) if model in trained else _probe(*samples[model, role], role, threads)
        costs.append(Cost(model, "pairs" if role == CROSS_ENCODER else "texts", amount, speed))
    return Estimate(len(todo), len(plan.cells) - len(todo), tuple(costs), _disk(todo, plan))


def _seen(job: TrainJob) -> int:
    """Number of pairs or documents seen in training, over all epochs."""
    settings = job.recipe.settings
    if settings.get("steps"):
        return int(settings["steps"]) * int(settings["batch_size"])
    return round(_made(job) * float(settings.get("epochs", 0.1)))


def _made(job: TrainJob) -> int:
    """Estimated number of pairs or documents."""
    return sum(_made_by(step, source.chosen) for step, source in zip(job.recipe.data, job.sources, strict=True))


def _made_by(step: DataStep, chosen: Chosen) -> int:
    if step.kind == DOCUMENTS:
        return chosen.indexed
    if step.kind != UNLABELLED or chosen.training_queries is None:
        return int(step["limit"] or UNKNOWN_PAIRS)
    wanted = Negatives.parse(step["negatives"], step["depth"])
    documents = sum(min(chosen.indexed, wanted.depth if count == ALL else count) for _, count in wanted.counts)
    pairs = chosen.training_queries * documents * (PASSAGES if step["passages"] else 1)
    return min(pairs, step["limit"] or pairs)


def _taught(job: TrainJob) -> int:
    """The pairs that a teacher scores: every pair once, or at every step where a loss needs its states."""
    if job.recipe.training != DISTIL or job.recipe.losses == {HARD}:
        return 0
    return _seen(job) if job.recipe.losses & INSIDE else _made(job)


def _teacher(job: TrainJob) -> tuple[Step, Chosen]:
    settings = job.recipe.settings
    tokens = settings["max_tokens"] or USUAL_TOKENS
    chain = chain_of(f"bm25 | cross-encoder('{settings['teacher']}', max_tokens={tokens})")
    return chain[-1], job.sources[0].chosen


def _model_step(cell: Cell) -> Step | None:
    """The step of a cell that runs a model over many texts."""
    job = cell.job
    if isinstance(job, VectorsJob):
        return job.step
    chain = (job.step,) if isinstance(job, RunJob) else job.chain if isinstance(job, LatencyJob) else ()
    return next((step for step in chain if step.kind == CROSS_ENCODER), None)


def _chosen(cell: Cell, plan: Plan) -> Chosen | None:
    """The collection of a cell."""
    job = cell.job
    index = plan.cells[job.context.index].job if isinstance(job, VectorsJob | RunJob | LatencyJob) else job
    return index.chosen if isinstance(index, IndexJob) else None


def _amount(cell: Cell, chosen: Chosen) -> int:
    """Number of pairs or texts: an upper bound, because a query may find fewer documents."""
    job = cell.job
    if isinstance(job, LatencyJob):
        depths = [
            step["k"] if step.kind == CUT else depth_of(step) for step in job.chain if step.kind in (CUT, *MODELLED)
        ]
        return job.queries * min(filter(None, depths), default=DEEPEST)
    if not isinstance(job, RunJob):
        return chosen.indexed
    passages = PASSAGES if job.step.settings.get("passages") else 1
    if job.before and job.before[0].kind == JUDGED:
        return chosen.facts.judgments * chosen.test_queries // max(1, chosen.facts.queries) * passages
    cut = (job.given.cut if job.given else None) or min(DEEPEST, chosen.indexed)
    return chosen.test_queries * min(cut, job.step.settings.get("depth") or cut) * passages


def _known_speeds(store: CellStore) -> dict[ModelRole, float]:
    """Speeds measured by finished cells; the last one counts."""
    speeds: dict[ModelRole, float] = {}
    for record in store.records():
        model = str(record["configuration"].get("model"))
        if record.get("pairs_per_second"):
            speeds[model, CROSS_ENCODER] = record["pairs_per_second"]
        if record.get("encode_seconds"):
            speeds[model, BI_ENCODER] = max(record["documents"], 1) / record["encode_seconds"]
    return speeds


def _probe(step: Step, chosen: Chosen, role: str, threads: int) -> float:
    """Texts or pairs a second, measured on the first documents of the collection."""
    queries, judgments = chosen.judged()
    template = None if step["document"] is None else Template(step["document"])
    documents = islice(chosen.texts(judgments), PROBES)
    texts = [document.text() if template is None else template.fill(document) for document in documents]
    options = {"precision": step["precision"], "threads": threads}
    if role == BI_ENCODER:
        encoder = TextEncoder(step["model"], **options)
        encoder.encode(texts[:2])
        begun = time.perf_counter()
        encoder.encode(texts)
    else:
        try:
            scorer = load_scorer(step["model"], max_tokens=step["max_tokens"], **options)
            query = next(iter(queries.values())).text()
            scorer.logits([(query, text) for text in texts[:2]])
            begun = time.perf_counter()
            scorer.logits([(query, text) for text in texts])
        except (OSError, KeyError):  # a kind of model that does not score single pairs
            return float(PROBES)
    return len(texts) / max(time.perf_counter() - begun, 1e-6)


def _disk(todo: Sequence[Cell], plan: Plan) -> int:
    """Rough size in bytes: indexes and vectors by documents, runs by lines."""
    total = 0
    for cell in todo:
        chosen, job = _chosen(cell, plan), cell.job
        if chosen is not None and isinstance(job, RunJob):
            cut = job.given.cut if job.given else None
            total += RUN_BYTES * chosen.test_queries * min(cut or DEEPEST, chosen.indexed)
        elif chosen is not None and isinstance(job, VectorsJob | IndexJob):
            total += (VECTOR_BYTES if isinstance(job, VectorsJob) else DOCUMENT_BYTES) * chosen.indexed
    return total
