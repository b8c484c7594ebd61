"""The plan of a study: all cells it needs, each once, however many rows share it; and the rows that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rankwell.core import RankwellError, fingerprint
from rankwell.encode import find_model
from rankwell.studies.cells import Cell
from rankwell.studies.data import Chosen, Shelf, choose
from rankwell.studies.data_jobs import DATA_JOBS
from rankwell.studies.jobs import Ground, IndexJob, LatencyJob, Place, RunJob, VectorsJob
from rankwell.studies.models import check_model, weights_of
from rankwell.studies.places import Places
from rankwell.studies.problems import StudyError, meant
from rankwell.studies.reading import StudyFile
from rankwell.studies.recipe_checks import check_apart, check_labels, check_recipe
from rankwell.studies.recipes import Recipe
from rankwell.studies.steps import STEPS, Chain, ModelUse, Step
from rankwell.studies.steps.cut import Cut
from rankwell.studies.steps.dense import Dense
from rankwell.studies.steps.given import STORED, fingerprint_of_run
from rankwell.studies.study import FRONTIER, OF_DATA, TableEntry
from rankwell.studies.variables import Row

if TYPE_CHECKING:
    from rankwell.studies.training_job import Source

TIMED_QUERIES = 30


@dataclass(frozen=True)
class PlannedRow:
    """A row of a table on a collection: where its run will be; and that of the step it re-ranks, if it does."""

    table: str
    row: Row
    collection: Chosen
    chain: Chain
    place: Place
    before: Place | None = None
    latency: str | None = None


@dataclass(frozen=True)
class LeftOut:
    """A row that cannot be run here, and why."""

    table: str
    row: str
    collection: str
    why: str


@dataclass(frozen=True)
class Described:
    """A collection that a table says something of: the cell of its index, and the one that has the figures."""

    table: str
    collection: Chosen
    index: str
    cell: str


@dataclass
class Plan:
    """Cells in an order in which each stands behind those that it needs."""

    file: StudyFile
    collections: list[Chosen] = field(default_factory=list)
    trainable: dict[str, Chosen] = field(default_factory=dict)  # by the names of collections that they stand for
    missing: list[str] = field(default_factory=list)
    cells: dict[str, Cell] = field(default_factory=dict)
    rows: list[PlannedRow] = field(default_factory=list)
    described: list[Described] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def data(self) -> list[Chosen]:
        """The collections that are measured, then those that are only trained on."""
        return self.collections + [chosen for chosen in self.trainable.values() if not chosen.entry.measured]

    def add(self, cell: Cell) -> str:
        """A cell, if it is not there yet."""
        self.cells.setdefault(cell.key, cell)
        return cell.key

    def of_table(self, table: TableEntry) -> Iterator[PlannedRow]:
        """The rows of a table, collection by collection."""
        return (row for row in self.rows if row.table == table.name)


def make_plan(file: StudyFile, shelf: Shelf) -> Plan:
    """Look at the data and at the models, and plan everything; the first thing that cannot be is an error."""
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
    """A table that ranks nothing: left out where the collection has nothing for it."""
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
    """Plans lines on one collection."""

    plan: Plan
    chosen: Chosen

    def check(self, chain: Chain) -> None:
        """Raise where the collection lacks a field, a wording or a stored run, or a model is not here."""
        for step in chain:
            kind = STEPS[step.kind]
            for name in kind.fields(step):
                if name not in self.chosen.fields:
                    known = ", ".join(self.chosen.fields)
                    near = meant(name, (*self.chosen.fields, *(parameter.name for parameter in kind.parameters)))
                    raise RankwellError(f"expected fields of {self.chosen.name} ({known}), found {name}{near}")
            wording = step.settings.get("query")
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
        """The models that the study trains."""
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
        """A collection to learn from: the one that is measured, where no other is named."""
        if collection is None:
            return self.chosen
        found = self.plan.trainable.get(collection)
        if found is None:
            entry = next(entry for entry in self.plan.file.study.collection if entry.name == collection)
            others = [other.source for other in self.plan.file.study.collection if other.instead_of == collection]
            raise RankwellError(f"expected {' or '.join([entry.source, *others])} to train on, found none of it here")
        return found

    def _trained(self, name: str) -> str:
        """The cell that trains a model."""
        from rankwell.studies.training_job import TrainJob

        recipe = self.recipes[name]
        weights = tuple(weights_of(find_model(model)) for model in recipe.models)
        sources = tuple(self._source(self._named(step["from"])) for step in recipe.pairs)
        validation = None if recipe.validate is None else self._source(self._named(recipe.validate))
        if validation in sources:  # one collection stands in for both: nothing is left to decide with
            validation = None
        needed = [source.ground.index for source in (*sources, *([validation] if validation else []))]
        learnt = " + ".join(dict.fromkeys(source.chosen.name for source in sources))
        job = TrainJob(sources, recipe, weights, validation)
        return self.plan.add(Cell(job, tuple(dict.fromkeys(needed)), f"{learnt}: train {name}"))

    def _source(self, chosen: Chosen) -> Source:
        from rankwell.studies.training_job import Source

        return Source(replace(self, chosen=chosen).ground(), chosen)

    def ground(self) -> Ground:
        """The index of the collection."""
        job = IndexJob(self.chosen)
        key = self.plan.add(Cell(job, (), f"{self.chosen.name}: index"))
        return Ground(key, fingerprint(job.configuration()), self.chosen.folder)

    def run(self, chain: Chain) -> tuple[Place, Place | None]:
        """Where the run of a line will be, and that of the line without its last step."""
        ground = self.ground()
        place: Place | None = None
        before: Place | None = None
        for number, step in enumerate(chain):
            if step.kind == Cut.name:
                cut = step["k"] if place is None or place.cut is None else min(step["k"], place.cut)
                place = Place(place.key, cut) if place is not None else None
                continue
            before, place = place, self._step(ground, chain[:number], step, place)
        if place is None:  # a chain begins with a step that finds something
            raise RankwellError("expected a pipeline with a step, found none")
        return place, before

    def latency(self, chain: Chain) -> str:
        """The cell that measures how long a query takes."""
        ground = self.ground()
        needed = [cell.key for cell in self.plan.cells.values() if isinstance(cell.job, VectorsJob)]
        models = tuple(weights for step in chain if (weights := self._weights(step)))
        names = {use.name for step in chain if (use := STEPS[step.kind].model(step)) and use.name in self.recipes}
        ground = replace(ground, models=tuple((name, self._trained(name)) for name in sorted(names)))
        needed += [key for _, key in ground.models]
        job = LatencyJob(ground, chain, min(TIMED_QUERIES, self.chosen.asked), models)
        return self.plan.add(Cell(job, (ground.index, *needed), f"{self.chosen.name}: latency of {written(chain)}"))

    def _step(self, ground: Ground, before: Chain, step: Step, given: Place | None) -> Place:
        parents = [ground.index]
        if step.kind == Dense.name:
            job = VectorsJob(ground, step, self._weights(step) or "")
            title = f"{self.chosen.name}: vectors of {step['model']}"
            parents.append(self.plan.add(Cell(job, (ground.index,), title)))
        use = STEPS[step.kind].model(step)
        if use is not None and use.name in self.recipes and not step.beside:
            key = self._trained(use.name)
            parents.append(key)
            ground = replace(ground, models=((use.name, key),))
        # A line within a step is one of its own, or where the step follows others, it follows them too.
        beside = tuple(self.run((*before, *inner))[0] for inner in step.beside)
        parents += [place.key for place in (*([given] if given else []), *beside)]
        work = RunJob(ground, before, step, given, beside, self._weights(step))
        title = f"{self.chosen.name}: {written((*before, step))}"
        return Place(self.plan.add(Cell(work, tuple(dict.fromkeys(parents)), title)))

    def _weights(self, step: Step) -> str | None:
        """The fingerprint of what a step reads besides the index."""
        use = STEPS[step.kind].model(step)
        if use is not None:
            return self._trained(use.name) if use.name in self.recipes else check_model(use)
        return fingerprint_of_run(step, self.chosen.folder) if step.kind in STORED else None


def written(chain: Chain) -> str:
    """A chain in a line, with what is not as usual."""
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
    """Where collections are looked for: as the user says, else as the environment does."""
    if given is not None and not given.is_dir():
        raise RankwellError(f"{given}: expected a folder with collections, found none")
    return given or (Path(environment) if environment else None)
