"""Make the training pairs that the steps of a recipe ask for."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from rankwell.core import Queries, RankwellError, Run
from rankwell.retrieve import BM25
from rankwell.studies.plan.data import Chosen
from rankwell.studies.recipes.kinds import LABELLED, SELF_SUPERVISED, UNLABELLED
from rankwell.studies.recipes.recipes import PairStep
from rankwell.studies.steps import StepContext
from rankwell.training import (
    Negatives,
    PairOptions,
    Sources,
    Spool,
    write_labelled,
    write_self_supervised,
    write_unlabelled,
)

if TYPE_CHECKING:
    from rankwell.models.learning.pairs import Pairs


@dataclass(frozen=True)
class Making:
    """A step that makes pairs, and the collection it uses."""

    step: PairStep
    chosen: Chosen
    bench: StepContext
    parts: bool  # title and abstract in separate columns

    def write(self, place: Path) -> Pairs:
        """Write all pairs of the step."""
        return MAKERS[self.step.kind](self, place)

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

    def found(self, queries: Queries, wanted: Negatives) -> Run | None:
        """BM25's run, or None where the step does not need it."""
        if "hard" not in wanted.kinds:
            return None
        return BM25(self.bench.index, k=wanted.depth, threads=self.bench.threads)(queries)

    def options(self) -> PairOptions:
        """The step's options for making pairs."""
        return self.step.options(seed=self.chosen.seed, parts=self.parts)


def _self_supervised(making: Making, place: Path) -> Pairs:
    with Spool(making.bench.index.documents.values(), place.parent) as spool:
        settings = making.options().self_supervised()
        return write_self_supervised(place, spool, settings, limit=making.step["limit"])


def _labelled(making: Making, place: Path) -> Pairs:
    queries, judgments = making.chosen.to_train_on()
    settings = making.options().labelled()
    run = making.found(queries, settings.negatives)
    return write_labelled(place, Sources(making.bench.index.documents, queries, judgments, run), settings)


def _unlabelled(making: Making, place: Path) -> Pairs:
    settings = making.options().unlabelled()
    queries, _ = making.chosen.to_train_on()
    run = making.found(queries, settings.documents)
    return write_unlabelled(place, making.bench.index.documents, queries, run, settings)


MAKERS: Mapping[str, Callable[[Making, Path], Pairs]] = MappingProxyType(
    {SELF_SUPERVISED: _self_supervised, LABELLED: _labelled, UNLABELLED: _unlabelled}
)


def made_pairs(makings: Sequence[Making], place: Path) -> Pairs:
    """The pairs of all steps, in their order; complete pairs of an earlier attempt are reused."""
    from rankwell.models.learning.pairs import open_pairs

    first = makings[0]
    try:
        whole = open_pairs(place)
    except RankwellError:
        shutil.rmtree(place.parent, ignore_errors=True)
        place.parent.mkdir(parents=True)
        if len(makings) == 1:
            whole = first.write(place)
        else:
            own = [place.with_name(f"{place.name}-{number}") for number in range(len(makings))]
            several = [making.write(part) for making, part in zip(makings, own, strict=True)]
            whole = joined([making.limited(pairs) for making, pairs in zip(makings, several, strict=True)], place)
            for part in own:
                shutil.rmtree(part)
    return first.limited(whole) if len(makings) == 1 else whole


def joined(several: Sequence[Pairs], place: Path) -> Pairs:
    """Several sets of pairs as one, with the columns that all have; queries of different sets stay different."""
    from rankwell.models.learning.pairs import Pair
    from rankwell.models.learning.pairs_writer import PairsWriter

    types = {field.name: str(field.type) for field in next(several[0].batches()).schema}
    extra = [
        name for name in several[0].columns[len(Pair._fields) :] if all(name in pairs.columns for pairs in several)
    ]
    made = [pairs.record["made"] for pairs in several]
    cut = {str(told.get("passages")) for told in made}
    record = {"kind": "several", "several": made, "passages": made[0].get("passages") if len(cut) == 1 else "mixed"}
    seed = several[0].record["seed"]
    with PairsWriter(place, made=record, seed=seed, extra={name: types[name] for name in extra}) as writer:
        for number, pairs in enumerate(several):
            for batch in pairs.batches([*Pair._fields, *extra]):
                for row in batch.to_pylist():
                    pair = Pair(**{name: row.pop(name) for name in Pair._fields})
                    writer.add(pair._replace(query_id=f"{number}/{pair.query_id}", group=-1), **row)
    return writer.open()


def decisive_pairs(chosen: Chosen, bench: StepContext, place: Path, *, parts: bool) -> Pairs:
    """Validation pairs: all judged documents, or BM25's top where only relevant ones were judged."""
    from rankwell.models.learning.pairs import open_pairs

    try:
        return open_pairs(place)
    except RankwellError:
        shutil.rmtree(place, ignore_errors=True)
    _, judgments = chosen.to_train_on()
    told = any(grade < 1 for grades in judgments.values() for grade in grades.values())
    step = PairStep(LABELLED, {"negatives": "judged:all" if told else "hard:all", "limit": None})
    return Making(step, chosen, bench, parts).write(place)
