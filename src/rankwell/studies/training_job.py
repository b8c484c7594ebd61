"""Training as a cell: pairs are made of collections, a model is trained on them, and its folder is the result."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwell.core import RankwellError, fingerprint
from rankwell.studies.cells import CellStore
from rankwell.studies.data import Chosen
from rankwell.studies.jobs import Ground
from rankwell.studies.pair_making import Making, decisive_pairs, made_pairs
from rankwell.studies.recipe_kinds import ARCHITECTURE, SELF_SUPERVISED
from rankwell.studies.recipes import Recipe
from rankwell.studies.trainers import TRAINERS, Lesson

if TYPE_CHECKING:
    from rankwell.train import Pairs

ROOM = "training"  # beside the cells: what a kill must not lose
MODEL = "model"


@dataclass(frozen=True)
class Source:
    """A collection to learn from, and its index."""

    ground: Ground
    chosen: Chosen

    def configuration(self) -> list[str]:
        """The data, and the training queries where they are no part of these."""
        return [part for part in (self.ground.data, self.chosen.facts.training) if part]


@dataclass(frozen=True)
class TrainJob:
    """A model by its recipe. Training that was killed goes on from its last checkpoint."""

    sources: tuple[Source, ...]  # of each step of pairs
    recipe: Recipe
    weights: tuple[str, ...]  # fingerprints of the models it begins with
    validation: Source | None = None  # decides which step is kept
    kind = "train"

    def configuration(self) -> dict[str, Any]:
        """The recipe, the data, and the models it begins with."""
        data = [part for source in self.sources for part in source.configuration()]
        told = {
            "data": data[0] if len(data) == 1 else data,
            **self.recipe.configuration(),
            "weights": list(self.weights),
        }
        return told if self.validation is None else told | {"validation": self.validation.configuration()}

    @property
    def collections(self) -> tuple[Chosen, ...]:
        """The collections whose own files are read: training queries and judgments are in no index."""
        asked = zip(self.recipe.pairs, self.sources, strict=True)
        read = [source.chosen for step, source in asked if step.kind != SELF_SUPERVISED]
        return (*read, *([self.validation.chosen] if self.validation else []))

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:
        """Make pairs, train, and keep the model."""
        room = store.folder.parent / ROOM / fingerprint(self.configuration())[:20]
        pairs = self._pairs(room, store, threads)
        decisive = self._decisive(room, store, threads)
        lesson = Lesson(pairs, decisive, room, self.recipe.settings, _threads(room, threads))
        shutil.copytree(TRAINERS[self.recipe.training](lesson), folder / MODEL)
        told = {"trained_on": len(pairs), **({} if decisive is None else {"decided_by": len(decisive)})}
        shutil.rmtree(room)
        return told

    def _pairs(self, room: Path, store: CellStore, threads: int) -> Pairs:
        parts = self.recipe.training == ARCHITECTURE  # which reads titles and abstracts apart
        makings = [
            Making(step, source.chosen, source.ground.bench(store, threads), parts)
            for step, source in zip(self.recipe.pairs, self.sources, strict=True)
        ]
        return made_pairs(makings, room / "pairs")

    def _decisive(self, room: Path, store: CellStore, threads: int) -> Pairs | None:
        if self.validation is None:
            return None
        bench = self.validation.ground.bench(store, threads)
        return decisive_pairs(self.validation.chosen, bench, room / "decisive")


def _threads(room: Path, threads: int) -> int:
    """As many as training was begun with, so that it ends with the weights it would have had."""
    from rankwell.train import RunFolder

    try:
        return int(RunFolder.open(room / "run").settings["threads"])
    except RankwellError:
        return threads
