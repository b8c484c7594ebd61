"""The plan of a study: all its cells, each once even if several rows share it; and the rows that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rankwell.core import RankwellError, fingerprint
from rankwell.models.base import find_model
from rankwell.studies.file.reading import ExperimentFile
from rankwell.studies.file.study import FRONTIER, OF_DATA, Row, TableEntry
from rankwell.studies.file.values import Places, StudyError, meant
from rankwell.studies.plan.cells import Cell
from rankwell.studies.plan.data import Chosen, CollectionFinder, choose
from rankwell.studies.plan.models import check_model, weights_of
from rankwell.studies.recipes.recipes import Recipe, check_apart, check_labels, check_recipe
from rankwell.studies.run.jobs import DATA_JOBS, CellRun, IndexJob, JobContext, LatencyJob, RunJob, VectorsJob
from rankwell.studies.steps import STEPS, Chain, ModelUse, Step
from rankwell.studies.steps.dense import DenseStep
from rankwell.studies.steps.given import STORED, fingerprint_of_run
from rankwell.studies.steps.rerankers import Cut

if TYPE_CHECKING:
    from rankwell.studies.recipes.training import Source


TIMED_QUERIES = 30


@dataclass(frozen=True)
class PlannedRow:
    """A row of a table on a collection: the cell of its run, and for a re-ranker the cell of the run it re-ranks."""

    table: str
    row: Row
    collection: Chosen
    chain: Chain
    place: CellRun
    before: CellRun | None = None
    latency: str | None = None


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

    def of_table(self, table: TableEntry) -> Iterator[PlannedRow]:
        """The rows of a table, collection by collection."""
        return (row for row in self.rows if row.table == table.name)


def make_plan(file: ExperimentFile, shelf: CollectionFinder) -> Plan:
    """Check data and models, and plan all cells; raises at the first problem."""
    plan = Plan(file)
    found, plan.missing = choose(file.study, shelf)
    budget = file.study.budget[file.budget] if file.budget else None
    for entry, source, stands_for in found:
        facts = shelf.facts(entry, source)
        chosen = Chosen(entry, stands_for, source, facts, seed=file.study.seed)
        if budget is not None:
            documents, queries = None if entry.whole else budget.documents, budget.queries if entry.measured else None
            chosen = replace(chosen, queries=queries, documents=documents, training=budget.training)
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
    if not plan.rows and not plan.described:
        why = f": {plan.left_out[0].why}" if plan.left_out else ""
        raise StudyError(file.path, f"expected rows that can be run here, found none{why}")
    return plan


def _plan_description(planner: Planner, table: TableEntry) -> None:
    """Plan a table without rankings; it is left out where the collection lacks the data."""
    plan, chosen = planner.plan, planner.chosen
    index = planner.ground().index
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
        at = Places(plan.file.text).of(("table", plan.file.study.table.index(table), "rows", row.written))
        raise StudyError(plan.file.path, f"{row.name} on {chosen.name}: {error}", *(at or ())) from error
    place, before = planner.run(chain)
    latency = planner.latency(chain) if table.kind == FRONTIER else None
    plan.rows.append(PlannedRow(table.name, row, chosen, chain, place, before, latency))


@dataclass
class Planner:
    """Plans pipelines on one collection."""

    plan: Plan
    chosen: Chosen

    def check(self, chain: Chain) -> None:
        """Raise where the collection lacks a field, a wording or a stored run, or a model is missing."""
        for step in chain:
            kind = STEPS[step.kind]
            for name in kind.fields(step):
                if name not in self.chosen.fields:
                    known = ", ".join(self.chosen.fields)
                    near = meant(name, (*self.chosen.fields, *(parameter.name for parameter in kind.parameters)))
                    raise RankwellError(f"expected fields of {self.chosen.name} ({known}), found {name}{near}")
            wording = step.settings.get("query_field")
            if wording is not None and wording not in self.chosen.facts.wordings:
                known = ", ".join(self.chosen.facts.wordings)
                raise RankwellError(
                    f"expected a wording of the queries of {self.chosen.name} ({known}), found {wording}"
                )
            use = kind.model(step)
            if use is not None and use.name in self.recipes:
                self._check_recipe(use)
            elif use is not None:
                check_model(use)
            if step.kind in STORED:
                fingerprint_of_run(step, self.chosen.folder)
            for inner in step.beside:
                self.check(inner)

    @cached_property
    def recipes(self) -> dict[str, Recipe]:
        """The recipes of the models that the study trains."""
        return self.plan.file.models()

    def _check_recipe(self, use: ModelUse) -> None:
        """Raise where a model cannot be trained here."""
        recipe = self.recipes[use.name]
        if use.role != "cross-encoder":
            raise RankwellError(f"{use.name}: expected a {use.role}, found a cross-encoder that this study trains")
        learnt = [self._named(step["from"]) for step in recipe.pairs]
        check_recipe(recipe, learnt)
        if recipe.validate is not None:
            learnt.append(self._named(recipe.validate))
            check_labels(learnt[-1])
        for chosen in learnt:
            check_apart(chosen, self.chosen)

    def _named(self, collection: str | None) -> Chosen:
        """The training collection of that name; by default the evaluated one."""
        if collection is None:
            return self.chosen
        found = self.plan.trainable.get(collection)
        if found is None:
            entry = next(entry for entry in self.plan.file.study.collection if entry.name == collection)
            others = [other.source for other in self.plan.file.study.collection if other.instead_of == collection]
            raise RankwellError(f"expected {' or '.join([entry.source, *others])} to train on, found none of it here")
        return found

    def _trained(self, name: str) -> str:
        """The key of the cell that trains a model."""
        from rankwell.studies.recipes.training import TrainJob

        recipe = self.recipes[name]
        weights = tuple(weights_of(find_model(model)) for model in recipe.models)
        sources = tuple(self._source(self._named(step["from"])) for step in recipe.pairs)
        validation = None if recipe.validate is None else self._source(self._named(recipe.validate))
        if validation in sources:  # one collection stands in for both: no validation queries are left
            validation = None
        needed = [source.ground.index for source in (*sources, *([validation] if validation else []))]
        learnt = " + ".join(dict.fromkeys(source.chosen.name for source in sources))
        job = TrainJob(sources, recipe, weights, validation)
        return self.plan.add(Cell(job, tuple(dict.fromkeys(needed)), f"{learnt}: train {name}"))

    def _source(self, chosen: Chosen) -> Source:
        from rankwell.studies.recipes.training import Source

        return Source(replace(self, chosen=chosen).ground(), chosen)

    def ground(self) -> JobContext:
        """The context with the collection's index."""
        job = IndexJob(self.chosen)
        key = self.plan.add(Cell(job, (), f"{self.chosen.name}: index"))
        return JobContext(key, fingerprint(job.configuration()), self.chosen.folder)

    def run(self, chain: Chain) -> tuple[CellRun, CellRun | None]:
        """The cell of a pipeline's run, and that of the pipeline without its last step."""
        ground = self.ground()
        place: CellRun | None = None
        before: CellRun | None = None
        for number, step in enumerate(chain):
            if step.kind == Cut.name:
                cut = step["k"] if place is None or place.cut is None else min(step["k"], place.cut)
                place = CellRun(place.key, cut) if place is not None else None
                continue
            before, place = place, self._step(ground, chain[:number], step, place)
        if place is None:  # a chain begins with a first stage
            raise RankwellError("expected a pipeline with a step, found none")
        return place, before

    def latency(self, chain: Chain) -> str:
        """The key of the cell that measures a query's latency."""
        ground = self.ground()
        needed = [cell.key for cell in self.plan.cells.values() if isinstance(cell.job, VectorsJob)]
        models = tuple(weights for step in chain if (weights := self._weights(step)))
        names = {use.name for step in chain if (use := STEPS[step.kind].model(step)) and use.name in self.recipes}
        ground = replace(ground, models=tuple((name, self._trained(name)) for name in sorted(names)))
        needed += [key for _, key in ground.models]
        job = LatencyJob(ground, chain, min(TIMED_QUERIES, self.chosen.asked), models)
        return self.plan.add(Cell(job, (ground.index, *needed), f"{self.chosen.name}: latency of {written(chain)}"))

    def _step(self, ground: JobContext, before: Chain, step: Step, given: CellRun | None) -> CellRun:
        parents = [ground.index]
        if step.kind == DenseStep.name:
            job = VectorsJob(ground, step, self._weights(step) or "")
            title = f"{self.chosen.name}: vectors of {step['model']}"
            parents.append(self.plan.add(Cell(job, (ground.index,), title)))
        use = STEPS[step.kind].model(step)
        if use is not None and use.name in self.recipes and not step.beside:
            key = self._trained(use.name)
            parents.append(key)
            ground = replace(ground, models=((use.name, key),))
        # A pipeline inside a step runs alone, or after the steps before it, where the step follows others.
        beside = tuple(self.run((*before, *inner))[0] for inner in step.beside)
        parents += [place.key for place in (*([given] if given else []), *beside)]
        work = RunJob(ground, before, step, given, beside, self._weights(step))
        title = f"{self.chosen.name}: {written((*before, step))}"
        return CellRun(self.plan.add(Cell(work, tuple(dict.fromkeys(parents)), title)))

    def _weights(self, step: Step) -> str | None:
        """The fingerprint of a step's inputs besides the index (model or stored run)."""
        use = STEPS[step.kind].model(step)
        if use is not None:
            return self._trained(use.name) if use.name in self.recipes else check_model(use)
        return fingerprint_of_run(step, self.chosen.folder) if step.kind in STORED else None


def written(chain: Chain) -> str:
    """A chain as one line, with the settings that differ from their defaults."""
    return " | ".join(map(_written, chain))


def _written(step: Step) -> str:
    if step.kind == Cut.name:
        return f"top {step['k']}"
    kind = STEPS[step.kind]
    usual = {parameter.name: parameter.default for parameter in kind.parameters}
    parts = [f"{name}={weight:g}" for name, weight in step.weights.items()]
    parts += [written(inner) for inner in step.beside]
    for name, value in step.settings.items():
        if value != usual[name]:
            told = f'"{value}"' if isinstance(value, str) and not value.replace("-", "").isalnum() else value
            parts.insert(0, str(told)) if name == kind.main else parts.append(f"{name}={told}")
    return f"{step.kind}({', '.join(parts)})" if parts else step.kind


def data_folder(given: Path | None, environment: str | None) -> Path | None:
    """The data folder: the user's choice, else the environment's."""
    if given is not None and not given.is_dir():
        raise RankwellError(f"{given}: expected a folder with collections, found none")
    return given or (Path(environment) if environment else None)
