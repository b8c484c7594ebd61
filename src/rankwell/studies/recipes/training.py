"""Train a recipe's model as a cell of the study."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwell.core import RankwellError, fingerprint
from rankwell.studies.plan.cells import CellStore
from rankwell.studies.plan.data import Chosen
from rankwell.studies.recipes.kinds import ARCHITECTURE, DISTIL, FAMILIES, LINEAR, SELF_SUPERVISED
from rankwell.studies.recipes.pairs import Making, decisive_pairs, made_pairs
from rankwell.studies.recipes.recipes import Recipe
from rankwell.studies.run.jobs import JobContext
from rankwell.training.families import TRAINABLE

if TYPE_CHECKING:
    from rankwell.models.learning.pairs import Pairs


def train(recipe: Recipe, pairs: Pairs, validation: Pairs | None, room: Path, threads: int) -> Path:
    """Train on pairs, with validation pairs where there are some; return the model's folder.

    An interrupted run in `room` is continued, and a finished one is reused.
    """
    from rankwell.models.learning.run_folder import RunFolder

    run = RunFolder(room / "run")
    if run.finished or (recipe.training == LINEAR and run.model.is_dir()):
        return run.model
    told, settings = recipe.settings, recipe.training_settings(threads)
    if recipe.training == DISTIL:
        from rankwell.models.distillation.training import distil

        teacher, student, usual = told["teacher"], told["student"], {"resume": True, "quiet": True}
        distil(teacher, student, pairs, run.path, settings=settings, validation=validation, **usual)
    else:
        TRAINABLE[FAMILIES[recipe.training]].train(pairs, run.path, told.get("start"), settings, validation)
    return run.model


ROOM = "training"  # beside the cells, so that an interruption does not lose it
MODEL = "model"


@dataclass(frozen=True)
class Source:
    """A training collection and its index."""

    ground: JobContext
    chosen: Chosen

    def configuration(self) -> list[str]:
        """Fingerprints of the data, and of the training queries where they are separate."""
        return [part for part in (self.ground.data, self.chosen.facts.training) if part]


@dataclass(frozen=True)
class TrainJob:
    """Trains a recipe's model. An interrupted training continues from its last checkpoint."""

    sources: tuple[Source, ...]  # of each step of pairs
    recipe: Recipe
    weights: tuple[str, ...]  # fingerprints of the starting models
    validation: Source | None = None  # validation collection
    kind = "train"

    def configuration(self) -> dict[str, Any]:
        """The recipe, the data, and the starting models."""
        data = [part for source in self.sources for part in source.configuration()]
        told = {
            "data": data[0] if len(data) == 1 else data,
            **self.recipe.configuration(),
            "weights": list(self.weights),
        }
        return told if self.validation is None else told | {"validation": self.validation.configuration()}

    @property
    def collections(self) -> tuple[Chosen, ...]:
        """The collections whose own files are read: an index has no training queries or judgments."""
        asked = zip(self.recipe.pairs, self.sources, strict=True)
        read = [source.chosen for step, source in asked if step.kind != SELF_SUPERVISED]
        return (*read, *([self.validation.chosen] if self.validation else []))

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:
        """Make pairs, train, and store the model."""
        room = store.folder.parent / ROOM / fingerprint(self.configuration())[:20]
        pairs = self._pairs(room, store, threads)
        decisive = self._decisive(room, store, threads)
        shutil.copytree(train(self.recipe, pairs, decisive, room, _threads(room, threads)), folder / MODEL)
        told = {"trained_on": len(pairs), **({} if decisive is None else {"decided_by": len(decisive)})}
        shutil.rmtree(room)
        return told

    def _pairs(self, room: Path, store: CellStore, threads: int) -> Pairs:
        makings = [
            Making(step, source.chosen, source.ground.bench(store, threads), self._parts)
            for step, source in zip(self.recipe.pairs, self.sources, strict=True)
        ]
        return made_pairs(makings, room / "pairs")

    def _decisive(self, room: Path, store: CellStore, threads: int) -> Pairs | None:
        if self.validation is None:
            return None
        bench = self.validation.ground.bench(store, threads)
        return decisive_pairs(self.validation.chosen, bench, room / "decisive", parts=self._parts)

    @property
    def _parts(self) -> bool:
        """Whether the model reads title and abstract separately."""
        return self.recipe.training == ARCHITECTURE


def _threads(room: Path, threads: int) -> int:
    """The number of threads that training began with, because the weights depend on it."""
    from rankwell.models.learning.run_folder import RunFolder

    try:
        return int(RunFolder.open(room / "run").settings["threads"])
    except RankwellError:
        return threads
