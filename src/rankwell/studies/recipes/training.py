"""Train a recipe's model as a cell of the study: make its pairs, or take its documents, and train on them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from rankwell.collections import open_collection, write_documents
from rankwell.core import RankwellError, fingerprint
from rankwell.models.distillation.training import distil
from rankwell.models.language_model.training import resume_mlm, train_mlm
from rankwell.models.language_model.vocabulary import count_collection, extend_vocabulary
from rankwell.models.learning.pairs import Pair, Pairs, open_pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from rankwell.models.learning.run_folder import CONFIGURATION, RunFolder
from rankwell.retrieve import BM25
from rankwell.studies.plan.cells import CellStore
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.recipes import recipe as recipes
from rankwell.studies.recipes.recipe import DataStep, Recipe
from rankwell.studies.run.jobs import JobContext
from rankwell.studies.steps import StepContext
from rankwell.training import Sources, Spool, write_labelled, write_self_supervised, write_unlabelled
from rankwell.training.families import TRAINABLE


@dataclass(frozen=True)
class PairMaker:
    """Makes the pairs of a step from the collection that it uses."""

    step: DataStep
    chosen: Chosen
    context: StepContext
    parts: bool  # title and abstract in separate columns

    def write(self, place: Path) -> Pairs:
        """Write all pairs of the step."""
        index, kind = self.context.index, recipes.RECIPES[self.step.kind]
        options: Any = kind.options and kind.options(self.step.options(seed=self.chosen.seed, parts=self.parts))
        if kind.name == recipes.SELF_SUPERVISED:
            with Spool(index.documents.values(), place.parent) as spool:
                return write_self_supervised(place, spool, options, limit=self.step["limit"])
        queries, judgments = self.chosen.to_train_on()
        wanted = options.documents if kind.name == recipes.UNLABELLED else options.negatives
        hard = "hard" in wanted.kinds
        run = BM25(index, k=wanted.depth, threads=self.context.threads)(queries) if hard else None
        if kind.name == recipes.UNLABELLED:
            return write_unlabelled(place, index.documents, queries, run, options)
        return write_labelled(place, Sources(index.documents, queries, judgments, run), options)

    def limited(self, pairs: Pairs) -> Pairs:
        """At most as many pairs as the step asks for."""
        limit = self.step["limit"]
        if limit is None or len(pairs) <= limit:
            return pairs
        if self.step.kind == recipes.UNLABELLED:  # a teacher may compare their documents with one another
            whole = pairs.limit(limit, self.chosen.seed)
            if len(whole):
                return whole
        # Single pairs: one review may have more than the limit.
        return pairs.take(np.random.default_rng(self.chosen.seed).permutation(len(pairs))[:limit])


def make_pairs(makers: Sequence[PairMaker], place: Path) -> Pairs:
    """The pairs of all steps, in their order; complete pairs of an earlier attempt are reused."""
    first, *others = makers
    try:
        whole = open_pairs(place)
    except RankwellError:
        shutil.rmtree(place.parent, ignore_errors=True)
        place.parent.mkdir(parents=True)
        if others:
            own = [place.with_name(f"{place.name}-{number}") for number in range(len(makers))]
            several = [maker.limited(maker.write(part)) for maker, part in zip(makers, own, strict=True)]
            whole = joined(several, place)
            for part in own:
                shutil.rmtree(part)
        else:
            whole = first.write(place)
    return whole if others else first.limited(whole)


def joined(several: Sequence[Pairs], place: Path) -> Pairs:
    """Several sets of pairs as one, with the columns that all have; queries of different sets stay different."""
    types = {field.name: str(field.type) for field in next(several[0].batches()).schema}
    extra = [
        name for name in several[0].columns[len(Pair._fields) :] if all(name in pairs.columns for pairs in several)
    ]
    made = [pairs.record["made"] for pairs in several]
    cut = {str(of.get("passages")) for of in made}
    record = {"kind": "several", "several": made, "passages": made[0].get("passages") if len(cut) == 1 else "mixed"}
    seed = several[0].record["seed"]
    with PairsWriter(place, made=record, seed=seed, extra={name: types[name] for name in extra}) as writer:
        for number, pairs in enumerate(several):
            for batch in pairs.batches([*Pair._fields, *extra]):
                for row in batch.to_pylist():
                    pair = Pair(**{name: row.pop(name) for name in Pair._fields})
                    writer.add(pair._replace(query_id=f"{number}/{pair.query_id}", group=-1), **row)
    return writer.open()


def validation_pairs(chosen: Chosen, context: StepContext, place: Path, *, parts: bool) -> Pairs:
    """Validation pairs: all judged documents, or BM25's top where only relevant ones were judged."""
    try:
        return open_pairs(place)
    except RankwellError:
        shutil.rmtree(place, ignore_errors=True)
    _, judgments = chosen.to_train_on()
    both = any(grade < 1 for grades in judgments.values() for grade in grades.values())
    step = DataStep(recipes.LABELLED, {"negatives": "judged:all" if both else "hard:all", "limit": None})
    return PairMaker(step, chosen, context, parts).write(place)


ROOM = "training"  # beside the cells, so that an interruption does not lose it
MODEL = "model"
METRICS = "metrics.jsonl"  # losses and measures by step, beside the model


def train(recipe: Recipe, data: Pairs | Path, validation: Pairs | None, run: Path, threads: int) -> None:
    """Train into `run/model` on pairs, or on the documents of a file.

    An interrupted training is continued, and a finished one is left as it is.
    """
    folder, settings = RunFolder(run), recipe.training_settings(threads)
    if folder.finished or (folder.model.is_dir() and not (run / CONFIGURATION).is_file()):  # no run: linear, vocabulary
        return
    TRAINERS[recipe.training](recipe, data, validation, folder, settings)


def _train_family(recipe: Recipe, pairs: Any, validation: Pairs | None, folder: RunFolder, settings: Any) -> None:
    family = TRAINABLE[recipes.FAMILIES[recipe.training]]
    family.train(pairs, folder.path, recipe.settings.get("start"), settings, validation)


def _distil(recipe: Recipe, pairs: Any, validation: Pairs | None, folder: RunFolder, settings: Any) -> None:
    teacher, student = recipe.settings["teacher"], recipe.settings["student"]
    resume: dict[str, Any] = {"resume": True, "quiet": True}
    distil(teacher, student, pairs, folder.path, settings=settings, validation=validation, **resume)


def _train_mlm(recipe: Recipe, documents: Any, _validation: Pairs | None, folder: RunFolder, settings: Any) -> None:
    if (folder.path / CONFIGURATION).is_file():
        resume_mlm(folder, quiet=True)
    else:
        train_mlm(documents, recipe.settings["start"], folder.path, settings, quiet=True)


def _extend_vocabulary(
    recipe: Recipe, documents: Any, _validation: Pairs | None, folder: RunFolder, settings: Any
) -> None:
    start = recipe.settings["start"]
    given = open_collection(documents).documents()
    words = count_collection(given, start, held_out=settings.held_out, seed=settings.seed)
    extend_vocabulary(words, start, folder.model, words=settings.words, at_least=settings.at_least)


# How each kind of recipe trains: the recipe, its pairs or documents, validation pairs, the run's folder, the settings.
TRAINERS: Mapping[str, Callable[[Recipe, Any, Pairs | None, RunFolder, Any], None]] = MappingProxyType(
    {
        **dict.fromkeys(recipes.FAMILIES, _train_family),
        recipes.DISTIL: _distil,
        recipes.MLM: _train_mlm,
        recipes.VOCABULARY: _extend_vocabulary,
    }
)


@dataclass(frozen=True)
class Source:
    """A training collection and its index."""

    context: JobContext
    chosen: Chosen

    def configuration(self) -> list[str]:
        """Fingerprints of the data, and of the training queries where they are separate."""
        return [part for part in (self.context.data, self.chosen.facts.training) if part]


@dataclass(frozen=True)
class TrainJob:
    """Trains a recipe's model. An interrupted training continues from its last checkpoint."""

    sources: tuple[Source, ...]  # of each step that makes data
    recipe: Recipe
    weights: tuple[str, ...]  # fingerprints of the starting models
    validation: Source | None = None  # validation collection
    models: tuple[tuple[str, str], ...] = ()  # starting models that the study trains: name, key of the cell
    kind = "train"

    def configuration(self) -> dict[str, Any]:
        """The recipe, the data, and the starting models."""
        data = [part for source in self.sources for part in source.configuration()]
        whole = {
            "data": data[0] if len(data) == 1 else data,
            **self.recipe.configuration(),
            "weights": list(self.weights),
        }
        return whole if self.validation is None else whole | {"validation": self.validation.configuration()}

    @property
    def collections(self) -> tuple[Chosen, ...]:
        """The collections whose own files are read: an index has no training queries or judgments."""
        steps = zip(self.recipe.data, self.sources, strict=True)
        read = [source.chosen for step, source in steps if step.kind in (recipes.LABELLED, recipes.UNLABELLED)]
        return (*read, *([self.validation.chosen] if self.validation else []))

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:
        """Make the data, train, and store the model."""
        room = store.folder.parent / ROOM / fingerprint(self.configuration())[:20]
        run = room / "run"
        data, validation, facts = self._data(room, store, threads)
        folders = {name: str(store.path(key) / MODEL) for name, key in self.models}
        named = {name: folders.get(self.recipe.settings.get(name, "")) for name in recipes.MODELS}
        settings = {**self.recipe.settings, **{name: place for name, place in named.items() if place}}
        train(replace(self.recipe, settings=settings), data, validation, run, _threads(run, threads))
        shutil.copytree(run / MODEL, folder / MODEL)
        RunFolder(run).metrics.copy_to(folder / METRICS)
        shutil.rmtree(room)
        return facts

    def _data(self, room: Path, store: CellStore, threads: int) -> tuple[Pairs | Path, Pairs | None, dict[str, int]]:
        """The training data, the validation pairs where there are some, and the numbers of both."""
        steps = zip(self.recipe.data, self.sources, strict=True)
        contexts = [(step, source.chosen, source.context.open(store, threads)) for step, source in steps]
        if self.recipe.data[0].kind == recipes.DOCUMENTS:
            file = room / "documents.jsonl"
            documents = {docno: of for _, _, context in contexts for docno, of in context.index.documents.items()}
            if not file.is_file():
                room.mkdir(parents=True, exist_ok=True)
                write_documents(file, (document._replace(metadata={}) for document in documents.values()))
            return file, None, {"trained_on": len(documents)}
        parts = self.recipe.training == recipes.ARCHITECTURE  # it reads title and abstract separately
        pairs = make_pairs([PairMaker(*of, parts) for of in contexts], room / "pairs")
        if self.validation is None:
            return pairs, None, {"trained_on": len(pairs)}
        context = self.validation.context.open(store, threads)
        decisive = validation_pairs(self.validation.chosen, context, room / "decisive", parts=parts)
        return pairs, decisive, {"trained_on": len(pairs), "decided_by": len(decisive)}


def _threads(run: Path, threads: int) -> int:
    """The number of threads that training began with, because the weights depend on it."""
    try:
        return int(RunFolder.open(run).settings["threads"])
    except RankwellError:
        return threads
