"""Training as a cell: pairs are made of the collection, a model is trained on them, and its folder is the result."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwell.core import RankwellError, fingerprint
from rankwell.rank import BM25
from rankwell.studies.cells import CellStore
from rankwell.studies.data import Chosen
from rankwell.studies.jobs import Ground
from rankwell.studies.recipes import Recipe
from rankwell.studies.steps import Bench
from rankwell.studies.trainers import TRAINERS

if TYPE_CHECKING:
    from rankwell.train import Pairs

ROOM = "training"  # beside the cells: what a kill must not lose
MODEL = "model"


@dataclass(frozen=True)
class TrainJob:
    """A model by its recipe. Training that was killed goes on from its last checkpoint."""

    ground: Ground
    chosen: Chosen
    recipe: Recipe
    weights: tuple[str, ...]  # fingerprints of the models it begins with
    kind = "train"

    def configuration(self) -> dict[str, Any]:
        """The recipe, the data, and the models it begins with."""
        return {"data": self.ground.data, **self.recipe.configuration(), "weights": list(self.weights)}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:
        """Make pairs, train, and keep the model."""
        room = store.folder.parent / ROOM / fingerprint(self.configuration())[:20]
        bench = self.ground.bench(store, threads)
        limit = self.recipe.pair_settings["limit"]
        pairs = self._pairs(room, bench)
        if limit is not None and len(pairs) > limit:  # single pairs: a review alone may have more than the limit
            pairs = pairs.take(np.random.default_rng(self.chosen.seed).permutation(len(pairs))[:limit])
        shutil.copytree(TRAINERS[self.recipe.training](pairs, room, self.recipe.settings, threads), folder / MODEL)
        shutil.rmtree(room)
        return {"trained_on": len(pairs)}

    def _pairs(self, room: Path, bench: Bench) -> Pairs:
        """Those of an earlier try if they are whole, else new ones."""
        from rankwell.train import open_pairs

        place = room / "pairs"
        try:
            return open_pairs(place)
        except RankwellError:
            shutil.rmtree(room, ignore_errors=True)
            room.mkdir(parents=True)
        return self._labelled(place, bench) if self.recipe.needs_labels else self._self_supervised(place, bench)

    def _self_supervised(self, place: Path, bench: Bench) -> Pairs:
        from rankwell.train import SelfSupervised, Spool, write_self_supervised
        from rankwell.train.perturbations import parse_perturbations

        told = self.recipe.pair_settings
        settings = SelfSupervised(
            title=told["title"],
            abstract=told["abstract"],
            false_pairs=told["false"],
            perturbations=parse_perturbations(told["perturb"]),
            seed=self.chosen.seed,
        )
        with Spool(bench.index.documents.values(), place.parent) as spool:
            return write_self_supervised(place, spool, settings, limit=told["limit"])

    def _labelled(self, place: Path, bench: Bench) -> Pairs:
        from rankwell.rerank import Passages
        from rankwell.train import Labelled, Negatives, Sources, write_labelled

        told = self.recipe.pair_settings
        queries, judgments = self.chosen.to_train_on()
        settings = Labelled(
            negatives=Negatives.parse(told["negatives"], told["depth"]),
            document=told["document"],
            passages=None if told["passages"] is None else Passages.parse(told["passages"]),
            parts=self.recipe.training == "architecture",  # which reads titles and abstracts apart
            seed=self.chosen.seed,
        )
        run = BM25(bench.index, k=told["depth"], threads=bench.threads)(queries)
        return write_labelled(place, Sources(bench.index.documents, queries, judgments, run), settings)
