"""Make the training pairs that the steps of a recipe ask for."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwell.core import RankwellError
from rankwell.retrieve import BM25
from rankwell.studies.plan.collections import Chosen
from rankwell.studies.recipes.kinds import LABELLED, RECIPES, SELF_SUPERVISED, UNLABELLED
from rankwell.studies.recipes.recipe import DataStep
from rankwell.studies.steps import StepContext
from rankwell.training import Sources, Spool, write_labelled, write_self_supervised, write_unlabelled

if TYPE_CHECKING:
    from rankwell.models.learning.pairs import Pairs


@dataclass(frozen=True)
class PairMaker:
    """Makes the pairs of a step from the collection that it uses."""

    step: DataStep
    chosen: Chosen
    context: StepContext
    parts: bool  # title and abstract in separate columns

    def write(self, place: Path) -> Pairs:
        """Write all pairs of the step."""
        index, kind = self.context.index, RECIPES[self.step.kind]
        options: Any = kind.options and kind.options(self.step.options(seed=self.chosen.seed, parts=self.parts))
        if kind.name == SELF_SUPERVISED:
            with Spool(index.documents.values(), place.parent) as spool:
                return write_self_supervised(place, spool, options, limit=self.step["limit"])
        queries, judgments = self.chosen.to_train_on()
        wanted = options.documents if kind.name == UNLABELLED else options.negatives
        hard = "hard" in wanted.kinds
        run = BM25(index, k=wanted.depth, threads=self.context.threads)(queries) if hard else None
        if kind.name == UNLABELLED:
            return write_unlabelled(place, index.documents, queries, run, options)
        return write_labelled(place, Sources(index.documents, queries, judgments, run), options)

    def limited(self, pairs: Pairs) -> Pairs:
        """At most as many pairs as the step asks for."""
        limit = self.step["limit"]
        if limit is None or len(pairs) <= limit:
            return pairs
        if self.step.kind == UNLABELLED:  # a teacher may compare their documents with one another
            whole = pairs.limit(limit, self.chosen.seed)
            if len(whole):
                return whole
        # Single pairs: one review may have more than the limit.
        return pairs.take(np.random.default_rng(self.chosen.seed).permutation(len(pairs))[:limit])


def make_pairs(makers: Sequence[PairMaker], place: Path) -> Pairs:
    """The pairs of all steps, in their order; complete pairs of an earlier attempt are reused."""
    from rankwell.models.learning.pairs import open_pairs

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
    from rankwell.models.learning.pairs import Pair
    from rankwell.models.learning.pairs_writer import PairsWriter

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
    from rankwell.models.learning.pairs import open_pairs

    try:
        return open_pairs(place)
    except RankwellError:
        shutil.rmtree(place, ignore_errors=True)
    _, judgments = chosen.to_train_on()
    both = any(grade < 1 for grades in judgments.values() for grade in grades.values())
    step = DataStep(LABELLED, {"negatives": "judged:all" if both else "hard:all", "limit": None})
    return PairMaker(step, chosen, context, parts).write(place)
