"""Train a recipe's model as a cell of the study."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwell.collections import write_documents
from rankwell.core import RankwellError, fingerprint
from rankwell.studies.plan.cells import CellStore
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.recipes.kinds import ARCHITECTURE, DISTIL, DOCUMENTS, FAMILIES, SELF_SUPERVISED, VOCABULARY
from rankwell.studies.recipes.pairs import PairMaker, make_pairs, validation_pairs
from rankwell.studies.recipes.recipe import MODELS, Recipe
from rankwell.studies.run.jobs import JobContext
from rankwell.training.families import TRAINABLE

if TYPE_CHECKING:
    from rankwell.models.learning.pairs import Pairs

ROOM = "training"  # beside the cells, so that an interruption does not lose it
MODEL = "model"


def train(recipe: Recipe, data: Pairs | Path, validation: Pairs | None, run: Path, threads: int) -> None:
    """Train into `run/model` on pairs, or on the documents of a file.

    An interrupted training is continued, and a finished one is left as it is.
    """
    from rankwell.models.learning.run_folder import CONFIGURATION, RunFolder

    folder, given, settings = RunFolder(run), recipe.settings, recipe.training_settings(threads)
    if folder.finished or (folder.model.is_dir() and not (run / CONFIGURATION).is_file()):  # no run: linear, vocabulary
        return
    if isinstance(data, Path):
        _train_on_documents(recipe, data, folder, settings)
    elif recipe.training == DISTIL:
        from rankwell.models.distillation.training import distil

        resume: dict[str, Any] = {"resume": True, "quiet": True}
        distil(given["teacher"], given["student"], data, run, settings=settings, validation=validation, **resume)
    else:
        TRAINABLE[FAMILIES[recipe.training]].train(data, run, given.get("start"), settings, validation)


def _train_on_documents(recipe: Recipe, documents: Path, folder: Any, settings: Any) -> None:
    from rankwell.collections import open_collection
    from rankwell.models.language_model.training import resume_mlm, train_mlm
    from rankwell.models.language_model.vocabulary import count_collection, extend_vocabulary
    from rankwell.models.learning.run_folder import CONFIGURATION

    start = recipe.settings["start"]
    if recipe.training == VOCABULARY:
        given = open_collection(documents).documents()
        words = count_collection(given, start, held_out=settings.held_out, seed=settings.seed)
        extend_vocabulary(words, start, folder.model, words=settings.words, at_least=settings.at_least)
    elif (folder.path / CONFIGURATION).is_file():
        resume_mlm(folder, quiet=True)
    else:
        train_mlm(documents, start, folder.path, settings, quiet=True)


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
        read = [source.chosen for step, source in steps if step.kind not in (SELF_SUPERVISED, DOCUMENTS)]
        return (*read, *([self.validation.chosen] if self.validation else []))

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:
        """Make the data, train, and store the model."""
        room = store.folder.parent / ROOM / fingerprint(self.configuration())[:20]
        run = room / "run"
        data, validation, facts = self._data(room, store, threads)
        folders = {name: str(store.path(key) / MODEL) for name, key in self.models}
        named = {name: folders.get(self.recipe.settings.get(name, "")) for name in MODELS}
        settings = {**self.recipe.settings, **{name: place for name, place in named.items() if place}}
        train(replace(self.recipe, settings=settings), data, validation, run, _threads(run, threads))
        shutil.copytree(run / MODEL, folder / MODEL)
        shutil.rmtree(room)
        return facts

    def _data(self, room: Path, store: CellStore, threads: int) -> tuple[Pairs | Path, Pairs | None, dict[str, int]]:
        """The training data, the validation pairs where there are some, and the numbers of both."""
        steps = zip(self.recipe.data, self.sources, strict=True)
        contexts = [(step, source.chosen, source.context.open(store, threads)) for step, source in steps]
        if self.recipe.data[0].kind == DOCUMENTS:
            file = room / "documents.jsonl"
            documents = {docno: of for _, _, context in contexts for docno, of in context.index.documents.items()}
            if not file.is_file():
                room.mkdir(parents=True, exist_ok=True)
                write_documents(file, (document._replace(metadata={}) for document in documents.values()))
            return file, None, {"trained_on": len(documents)}
        parts = self.recipe.training == ARCHITECTURE  # it reads title and abstract separately
        pairs = make_pairs([PairMaker(*of, parts) for of in contexts], room / "pairs")
        if self.validation is None:
            return pairs, None, {"trained_on": len(pairs)}
        context = self.validation.context.open(store, threads)
        decisive = validation_pairs(self.validation.chosen, context, room / "decisive", parts=parts)
        return pairs, decisive, {"trained_on": len(pairs), "decided_by": len(decisive)}


def _threads(run: Path, threads: int) -> int:
    """The number of threads that training began with, because the weights depend on it."""
    from rankwell.models.learning.run_folder import RunFolder

    try:
        return int(RunFolder.open(run).settings["threads"])
    except RankwellError:
        return threads
