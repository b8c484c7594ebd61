"""Documents to tell the relevant ones from: a ranker's mistakes, those judged not to be relevant, or any others."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rankwell.core import ParameterError

ALL = -1
WRITTEN = "hard, random or judged with a number a relevant document, or all: hard:4,random:1"


class Around(NamedTuple):
    """What negatives of one query are drawn from; `relevant` documents are never drawn."""

    ranked: Sequence[str]  # the top of a run
    judged: Sequence[str]  # judged as not relevant
    everything: Sequence[str]
    relevant: Collection[str]


@dataclass(frozen=True)
class Negatives:
    """How many negatives each relevant document gets, of each kind: `{"hard": 4, "random": 1}`; ALL for all there are.

    hard: among the run's `depth` best documents (S4 takes the top 40 of BM25). judged: among those with a grade below
    1. random: any document of the collection. None of them has a grade of 1 or more, whatever the least grade of a
    positive is, and each is drawn once a query.
    """

    counts: tuple[tuple[str, int], ...] = (("hard", 4),)
    depth: int = 40

    def __post_init__(self) -> None:
        for kind, count in self.counts:
            if kind not in KINDS or (count < 1 and count != ALL) or (kind == "random" and count == ALL):
                raise ParameterError("negatives", expected=WRITTEN, found=f"{kind}:{count}")
        if self.depth < 1:
            raise ParameterError("depth", expected="a number from 1", found=self.depth)

    @classmethod
    def parse(cls, text: str, depth: int = 40) -> Negatives:
        """From `hard:4,random:1`, `hard:all`, or `none`."""
        if text == "none":
            return cls((), depth)
        counts = []
        for part in text.split(","):
            kind, _, count = part.strip().partition(":")
            if not (count.isdecimal() or count == "all"):
                raise ParameterError("negatives", expected=WRITTEN, found=text)
            counts.append((kind, ALL if count == "all" else int(count)))
        return cls(tuple(counts), depth)

    def __str__(self) -> str:
        return ",".join(f"{kind}:{'all' if count == ALL else count}" for kind, count in self.counts) or "none"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are wanted."""
        return tuple(kind for kind, _ in self.counts)

    def drawn(self, around: Around, positives: int, chooser: random.Random) -> Iterator[tuple[str, str]]:
        """Document and kind; fewer than wanted where there are not so many."""
        taken = set(around.relevant)
        for kind, count in self.counts:
            for docno in KINDS[kind](around, taken, None if count == ALL else count * positives, chooser):
                taken.add(docno)
                yield docno, kind


Draw = Callable[[Around, set[str], int | None, random.Random], Collection[str]]


def _hard(around: Around, taken: set[str], wanted: int | None, chooser: random.Random) -> Collection[str]:
    return _some([docno for docno in around.ranked if docno not in taken], wanted, chooser)


def _judged(around: Around, taken: set[str], wanted: int | None, chooser: random.Random) -> Collection[str]:
    return _some([docno for docno in around.judged if docno not in taken], wanted, chooser)


def _random(around: Around, taken: set[str], wanted: int | None, chooser: random.Random) -> Collection[str]:
    """Nearly all documents will do, so that a few draws more than wanted have enough of them."""
    size = min((wanted or 0) + len(taken), len(around.everything))
    drawn = [around.everything[place] for place in chooser.sample(range(len(around.everything)), size)]
    return [docno for docno in drawn if docno not in taken][:wanted]


def _some(pool: Sequence[str], wanted: int | None, chooser: random.Random) -> Collection[str]:
    return pool if wanted is None or wanted >= len(pool) else chooser.sample(pool, wanted)


KINDS: dict[str, Draw] = {"hard": _hard, "judged": _judged, "random": _random}
