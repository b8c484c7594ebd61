"""The plan of a study: all its cells, each once even if several rows share it; and the rows that are left out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankwell.core import RankwellError, fingerprint, fingerprint_file
from rankwell.models.base import find_model
from rankwell.models.base.catalogue import kind_of, task_of
from rankwell.models.base.folder import ModelFolder, read_weights
from rankwell.models.base.onnx_file import load_graph
from rankwell.models.families import record_of
from rankwell.models.linear.ranking import WEIGHTS as LINEAR_WEIGHTS
from rankwell.models.linear.ranking import is_linear
from rankwell.studies.file.errors import KeyPositions, StudyError, meant
from rankwell.studies.file.reading import ExperimentFile
from rankwell.studies.file.study import COMPARISON, FRONTIER, OF_DATA, Budget, Row, TableEntry
from rankwell.studies.plan.cells import Cell
from rankwell.studies.plan.collections import Chosen, CollectionFinder, choose
from rankwell.studies.recipes.recipe import FROM, Recipe, check_apart, check_queries, check_recipe
from rankwell.studies.recipes.training import Source, TrainJob
from rankwell.studies.run.jobs import DATA_JOBS, CellRun, IndexJob, JobContext, LatencyJob, RunJob, VectorsJob
from rankwell.studies.steps import STEPS, Chain, ModelUse, Step, all_steps, model_of, written
from rankwell.studies.steps.kinds import CROSS_ENCODER, CUT, NULL, STORED, VECTORS, control_of, fingerprint_of_run

WEIGHTS = (".onnx", ".safetensors", ".bin", ".data")
SETTINGS = (".json", ".txt", ".toml")


def check_model(use: ModelUse) -> str:
    """The fingerprint of a model; raises where it is missing, or of another kind or precision."""
    place = find_model(use.name)
    if use.role == CROSS_ENCODER and (is_linear(use.name) or record_of(use.name) is not None):
        return weights_of(place)
    folder = ModelFolder.find(use.name)
    kind = kind_of(folder, task_of(folder))
    if not kind.startswith(use.role):
        raise RankwellError(f"{use.name}: expected a {use.role}, found a {kind}")
    if use.precision is not None:
        folder.choose(use.precision)  # raises where the weights are missing and cannot be made
    return weights_of(place)


@cache
def weights_of(folder: Path) -> str:
    """Fingerprint of all files of a model, whatever their names."""
    files = sorted(file for file in folder.rglob("*") if file.suffix in (*WEIGHTS, *SETTINGS) and file.is_file())
    # A model's download source does not change its results.
    return fingerprint({str(f.relative_to(folder)): fingerprint_file(f) for f in files if f.name != "rankwell.json"})


class ModelSize(NamedTuple):
    """Number of parameters, and bytes on disk."""

    parameters: int
    bytes: int


@cache
def size_of_model(folder: Path, precision: str | None = None) -> ModelSize:
    """The size of a model at a precision; weights that are converted on first use count like their source."""
    linear = folder / LINEAR_WEIGHTS
    if linear.is_file():
        return ModelSize(int(np.load(linear, mmap_mode="r").size), linear.stat().st_size)
    model_folder = ModelFolder(folder.name, folder)
    _, file = model_folder.choose(precision)
    weights = file or model_folder.torch_weights or next(iter(model_folder.onnx_files.values()))
    if weights.suffix == ".onnx":
        # The graph's initial tensors, including scales and zero points of an int8 model.
        model = load_graph(weights, external=False)
        count = sum(math.prod(tensor.dims) for tensor in model.graph.initializer)
    else:
        count = sum(int(tensor.size) for tensor in read_weights(weights).values())  # memory-mapped, not read
    beside = (part for part in weights.parent.glob(f"{weights.name}[._]data") if part.is_file())
    return ModelSize(count, sum(part.stat().st_size for part in (weights, *beside)))


TIMED_QUERIES = 30


@dataclass(frozen=True)
class PlannedRow:
    """A row of a table on a collection: the cell of its run, and for a re-ranker the cell of the run it re-ranks."""

    table: str
    row: Row
    collection: Chosen
    chain: Chain
    run: CellRun
    before: CellRun | None = None
    latency: str | None = None
    control: bool = False  # re-ranks nothing; the plan adds it


@dataclass(frozen=True)
class LeftOut:
    """A row that cannot be run here, and the reason."""

    table: str
    row: str
    collection: str
    why: str


@dataclass(frozen=True)
class Described:
    """A collection described in a table: the cell of its index, and the cell of its statistics."""

    table: str
    collection: Chosen
    index: str
    cell: str


@dataclass
class Plan:
    """The cells in an order in which each follows those that it needs."""

    file: ExperimentFile
    collections: list[Chosen] = field(default_factory=list)
    trainable: dict[str, Chosen] = field(default_factory=dict)  # by the names of the study's collections
    missing: list[str] = field(default_factory=list)
    cells: dict[str, Cell] = field(default_factory=dict)
    rows: list[PlannedRow] = field(default_factory=list)
    described: list[Described] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def data(self) -> list[Chosen]:
        """The evaluated collections, then those only used for training."""
        return self.collections + [chosen for chosen in self.trainable.values() if not chosen.entry.measured]

    def add(self, cell: Cell) -> str:
        """Add a cell if it is new, and return its key."""
        self.cells.setdefault(cell.key, cell)
        return cell.key


def make_plan(file: ExperimentFile, finder: CollectionFinder) -> Plan:
    """Check data and models, and plan all cells; raises at the first problem."""
    plan = Plan(file)
    available, plan.missing = choose(file.study, finder)
    budget = file.study.budget[file.budget] if file.budget else Budget()
    for entry, source, stands_for in available:
        queries, documents = budget.queries if entry.measured else None, None if entry.whole else budget.documents
        limits = (queries, documents, budget.training)
        chosen = Chosen(entry, stands_for, source, finder.facts(entry, source), *limits, seed=file.study.seed)
        plan.trainable |= dict.fromkeys(stands_for, chosen)
        if entry.measured:
            plan.collections.append(chosen)
    for table in file.study.table:
        for chosen in plan.collections:
            if table.collections and not set(table.collections) & set(chosen.stands_for):
                continue
            planner = Planner(plan, chosen)
            if table.kind in OF_DATA:
                _plan_description(planner, table)
            for row in file.rows(table):
                _plan_row(planner, table, row)
            if table.kind in (COMPARISON, FRONTIER):
                _plan_controls(planner, table)
    if not plan.rows and not plan.described:
        why = f": {plan.left_out[0].why}" if plan.left_out else ""
        raise StudyError(file.path, f"expected rows that can be run here, found none{why}")
    return plan


def _plan_description(planner: Planner, table: TableEntry) -> None:
    """Plan a table without rankings; it is left out where the collection lacks the data."""
    plan, chosen = planner.plan, planner.chosen
    index = planner.context(chosen).index
    make = DATA_JOBS.get(table.kind)
    try:
        cell = index if make is None else plan.add(Cell(make(chosen), (), f"{chosen.name}: {table.title.lower()}"))
    except RankwellError as error:
        plan.left_out.append(LeftOut(table.name, table.title, chosen.name, str(error)))
        return
    plan.described.append(Described(table.name, chosen, index, cell))


def _plan_row(planner: Planner, table: TableEntry, row: Row) -> None:
    plan, chosen = planner.plan, planner.chosen
    chain = plan.file.chain(table, row, chosen.entry)
    try:
        planner.check(chain)
    except RankwellError as error:
        if row.written in table.optional or "*" in table.optional:
            plan.left_out.append(LeftOut(table.name, row.name, chosen.name, str(error)))
            return
        at = KeyPositions(plan.file.text).of(("table", plan.file.study.table.index(table), "rows", row.written))
        raise StudyError(plan.file.path, f"{row.name} on {chosen.name}: {error}", *(at or ())) from error
    run, before = planner.run(chain)
    latency = planner.latency(chain) if table.kind == FRONTIER else None
    plan.rows.append(PlannedRow(table.name, row, chosen, chain, run, before, latency))


CONTROL = "control: re-ranks nothing"


def _plan_controls(planner: Planner, table: TableEntry) -> None:
    """A row that re-ranks nothing for each run that the table's models re-rank; it must score what that run scores.

    Of several depths the shallowest is taken. A table that has such a row of its own gets no other.
    """
    own = [row for row in planner.plan.rows if row.table == table.name and row.collection is planner.chosen]
    if any(step.kind == NULL for row in own for step in row.chain):
        return
    controls: dict[str, Chain] = {}
    for row in own:
        chain = control_of(row.chain)
        if chain is not None:
            before = written(chain[:-1])
            controls[before] = min(chain, controls.get(before, chain), key=lambda of: of[-1]["depth"] or math.inf)
    for before, chain in controls.items():
        name = CONTROL if len(controls) == 1 else f"{CONTROL} of {before}"
        run, given = planner.run(chain)
        control = Row(name, written(chain))
        planner.plan.rows.append(PlannedRow(table.name, control, planner.chosen, chain, run, given, control=True))


@dataclass
class Planner:
    """Plans pipelines on one collection."""

    plan: Plan
    chosen: Chosen

    @cached_property
    def recipes(self) -> dict[str, Recipe]:
        """The recipes of the models that the study trains."""
        return self.plan.file.models()

    def check(self, chain: Chain) -> None:
        """Raise where the collection lacks a field, a wording or a stored run, or a model is missing."""
        chosen = self.chosen
        for step in all_steps(chain):
            for name in step.fields:
                if name not in chosen.fields:
                    known = ", ".join(chosen.fields)
                    near = meant(name, (*chosen.fields, *STEPS[step.kind].parameters))
                    raise RankwellError(f"expected fields of {chosen.name} ({known}), found {name}{near}")
            wording = step.settings.get("query_field")
            if wording is not None and wording not in chosen.facts.wordings:
                known = ", ".join(chosen.facts.wordings)
                raise RankwellError(f"expected a wording of the queries of {chosen.name} ({known}), found {wording}")
            use = model_of(step)
            if use is not None and use.name in self.recipes:
                role = self.recipes[use.name].kind.role
                if role != use.role:
                    expected = f"expected a {use.role}, found a {role} that this study trains"
                    raise RankwellError(f"{use.name}: {expected}")
                self._check_recipe(use.name)
            elif use is not None:
                check_model(use)
            if step.kind in STORED:
                fingerprint_of_run(step, chosen.folder)

    def _check_recipe(self, name: str, within: tuple[str, ...] = ()) -> None:
        """Raise where a model cannot be trained here; `within` are those that start from it."""
        if name in within:
            raise RankwellError(f"{name}: expected another model to start from, found itself")
        recipe = self.recipes[name]
        for start in filter(self.recipes.__contains__, recipe.models):
            if not self.recipes[start].kind.starts:
                raise RankwellError(f"{name}: expected a model to start from, found {self.recipes[start].training}")
            self._check_recipe(start, (*within, name))
        learnt = [self._named(step[FROM]) for step in recipe.data]
        check_recipe(recipe, learnt, self.recipes)
        if recipe.validate is not None:
            learnt.append(self._named(recipe.validate))
            check_queries(learnt[-1])
        for chosen in learnt:
            check_apart(chosen, self.chosen)

    def _named(self, collection: str | None) -> Chosen:
        """The training collection of that name; by default the evaluated one."""
        if collection is None:
            return self.chosen
        if collection not in self.plan.trainable:
            entries = self.plan.file.study.collection
            sources = [entry.source for entry in entries if entry.name == collection]
            sources += [entry.source for entry in entries if entry.instead_of == collection]
            raise RankwellError(f"expected {' or '.join(sources)} to train on, found none of it here")
        return self.plan.trainable[collection]

    def _trained(self, name: str) -> str:
        """The key of the cell that trains a model."""
        recipe = self.recipes[name]
        models = {start: self._trained(start) for start in recipe.models if start in self.recipes}
        weights = tuple(models.get(model) or weights_of(find_model(model)) for model in recipe.models)
        sources = tuple(self._source(step[FROM]) for step in recipe.data)
        validation = None if recipe.validate is None else self._source(recipe.validate)
        if validation in sources:  # one collection stands in for both: no validation queries are left
            validation = None
        needed = [source.context.index for source in (*sources, *([validation] if validation else []))]
        learnt = " + ".join(dict.fromkeys(source.chosen.name for source in sources))
        job = TrainJob(sources, recipe, weights, validation, tuple(models.items()))
        parents = tuple(dict.fromkeys([*needed, *models.values()]))
        return self.plan.add(Cell(job, parents, f"{learnt}: train {name}"))

    def _source(self, collection: str | None) -> Source:
        chosen = self._named(collection)
        return Source(self.context(chosen), chosen)

    def context(self, chosen: Chosen) -> JobContext:
        """The context with a collection's index."""
        job = IndexJob(chosen)
        key = self.plan.add(Cell(job, (), f"{chosen.name}: index"))
        return JobContext(key, fingerprint(job.configuration()), chosen.folder)

    def run(self, chain: Chain) -> tuple[CellRun, CellRun | None]:
        """The cell of a pipeline's run, and that of the pipeline without its last step."""
        run: CellRun | None = None
        before: CellRun | None = None
        for number, step in enumerate(chain):
            if step.kind != CUT:
                before, run = run, self._step(chain[:number], step, run)
            elif run is not None:
                run = CellRun(run.key, step["k"] if run.cut is None else min(step["k"], run.cut))
        if run is None:  # a chain begins with a first stage
            raise RankwellError("expected a pipeline with a step, found none")
        return run, before

    def latency(self, chain: Chain) -> str:
        """The key of the cell that measures a query's latency."""
        needed = [cell.key for cell in self.plan.cells.values() if isinstance(cell.job, VectorsJob)]
        weights = tuple(weights for step in chain if (weights := self._weights(step)))
        names = {use.name for step in all_steps(chain) if (use := model_of(step)) and use.name in self.recipes}
        models = tuple((name, self._trained(name)) for name in sorted(names))
        context = replace(self.context(self.chosen), models=models)
        job = LatencyJob(context, chain, min(TIMED_QUERIES, self.chosen.test_queries), weights)
        parents = (context.index, *needed, *(key for _, key in models))
        return self.plan.add(Cell(job, parents, f"{self.chosen.name}: latency of {written(chain)}"))

    def _step(self, before: Chain, step: Step, given: CellRun | None) -> CellRun:
        context, use = self.context(self.chosen), model_of(step)
        parents, trained = [context.index], []
        if use is not None and use.name in self.recipes and not step.beside:
            trained = [self._trained(use.name)]
            context = replace(context, models=((use.name, trained[0]),))
        if step.kind == VECTORS:
            job = VectorsJob(context, step, self._weights(step) or "")
            title = f"{self.chosen.name}: vectors of {step['model']}"
            parents.append(self.plan.add(Cell(job, (context.index, *trained), title)))
        # A pipeline inside a step runs alone, or after the steps before it, where the step follows others.
        beside = tuple(self.run((*before, *inner))[0] for inner in step.beside)
        parents += [*trained, *(run.key for run in (*([given] if given else []), *beside))]
        work = RunJob(context, before, step, given, beside, self._weights(step))
        title = f"{self.chosen.name}: {written((*before, step))}"
        return CellRun(self.plan.add(Cell(work, tuple(dict.fromkeys(parents)), title)))

    def _weights(self, step: Step) -> str | None:
        """The fingerprint of a step's inputs besides the index (model or stored run)."""
        use = model_of(step)
        if use is not None:
            return self._trained(use.name) if use.name in self.recipes else check_model(use)
        return fingerprint_of_run(step, self.chosen.folder) if step.kind in STORED else None


def data_folder(given: Path | None, environment: str | None) -> Path | None:
    """The data folder: the user's choice, else the environment's."""
    if given is not None and not given.is_dir():
        raise RankwellError(f"{given}: expected a folder with collections, found none")
    return given or (Path(environment) if environment else None)
