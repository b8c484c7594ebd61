"""Pairs to train a study's models on, as the steps of a recipe ask for them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from rankwell.core import Queries, RankwellError, Run
from rankwell.rank import BM25
from rankwell.rerank import Passages
from rankwell.studies.data import Chosen
from rankwell.studies.recipe_kinds import LABELLED, SELF_SUPERVISED, UNLABELLED
from rankwell.studies.recipes import PairStep
from rankwell.studies.steps import Bench

if TYPE_CHECKING:
    from rankwell.train import Negatives, Pairs

DEEPEST = 40  # where a collection has no documents that were judged not to be relevant


@dataclass(frozen=True)
class Making:
    """A step of pairs, and the collection that they are made of."""

    step: PairStep
    chosen: Chosen
    bench: Bench
    parts: bool = False  # titles and abstracts apart

    def write(self, place: Path) -> Pairs:
        """All pairs of the step."""
        return MAKERS[self.step.kind](self, place)

    def limited(self, pairs: Pairs) -> Pairs:
        """As many of them as the step asks for."""
        limit = self.step["limit"]
        if limit is None or len(pairs) <= limit:
            return pairs
        if self.step.kind == UNLABELLED:  # whose documents a teacher may compare with one another
            whole = pairs.limit(limit, self.chosen.seed)
            if len(whole):
                return whole
        # Single pairs: a review alone may have more than the limit.
        return pairs.take(np.random.default_rng(self.chosen.seed).permutation(len(pairs))[:limit])

    def found(self, queries: Queries, wanted: Negatives) -> Run | None:
        """What BM25 finds, where some of it is wanted."""
        if "hard" not in wanted.kinds:
            return None
        return BM25(self.bench.index, k=wanted.depth, threads=self.bench.threads)(queries)

    @property
    def passages(self) -> Passages | None:
        """How documents are cut."""
        return None if self.step["passages"] is None else Passages.parse(self.step["passages"])


def _self_supervised(making: Making, place: Path) -> Pairs:
    from rankwell.train import SelfSupervised, Spool, write_self_supervised
    from rankwell.train.perturbations import parse_perturbations

    step = making.step
    settings = SelfSupervised(
        title=step["title"],
        abstract=step["abstract"],
        false_pairs=step["false"],
        perturbations=parse_perturbations(step["perturb"]),
        seed=making.chosen.seed,
    )
    with Spool(making.bench.index.documents.values(), place.parent) as spool:
        return write_self_supervised(place, spool, settings, limit=step["limit"])


def _labelled(making: Making, place: Path) -> Pairs:
    from rankwell.train import Labelled, Negatives, Sources, write_labelled

    step = making.step
    queries, judgments = making.chosen.to_train_on()
    negatives = Negatives.parse(step["negatives"], step["depth"])
    settings = Labelled(
        negatives=negatives,
        document=step["document"],
        passages=making.passages,
        parts=making.parts,
        seed=making.chosen.seed,
    )
    run = making.found(queries, negatives)
    return write_labelled(place, Sources(making.bench.index.documents, queries, judgments, run), settings)


def _unlabelled(making: Making, place: Path) -> Pairs:
    from rankwell.train import Negatives
    from rankwell.train.unlabelled import Unlabelled, write_unlabelled

    step = making.step
    wanted = Negatives.parse(step["documents"], step["depth"])
    settings = Unlabelled(wanted, step["document"], making.passages, seed=making.chosen.seed)
    queries, _ = making.chosen.to_train_on()
    run = making.found(queries, wanted)
    return write_unlabelled(place, making.bench.index.documents, queries, run, settings)


MAKERS: Mapping[str, Callable[[Making, Path], Pairs]] = MappingProxyType(
    {SELF_SUPERVISED: _self_supervised, LABELLED: _labelled, UNLABELLED: _unlabelled}
)


def made_pairs(makings: Sequence[Making], place: Path) -> Pairs:
    """The pairs of all steps together, in their order; those of an earlier try, if they are there and whole."""
    from rankwell.train import open_pairs

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
    """Several sets of pairs as one, with the columns that all have; a query of two of them is two queries."""
    from rankwell.train import Pair, PairsWriter

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


def decisive_pairs(chosen: Chosen, bench: Bench, place: Path) -> Pairs:
    """Pairs that choose a step: all judged documents, or BM25's best where only relevant ones were judged."""
    from rankwell.train import open_pairs

    try:
        return open_pairs(place)
    except RankwellError:
        shutil.rmtree(place, ignore_errors=True)
    _, judgments = chosen.to_train_on()
    told = any(grade < 1 for grades in judgments.values() for grade in grades.values())
    settings = {"negatives": "judged:all" if told else "hard:all", "depth": DEEPEST, "document": None}
    step = PairStep(LABELLED, {**settings, "passages": None, "limit": None})
    return Making(step, chosen, bench).write(place)
