"""Pairs without any judgment: a document's title is a query to which its abstract is the answer (S0 3.3.2, 4.2)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rankwell.core import Document, ParameterError, RankwellError
from rankwell.core.arrays import Integers
from rankwell.train.pairs import Pair
from rankwell.train.perturbations import ABSTRACT, PERTURBATIONS, TITLE, Perturbation, perturbed
from rankwell.train.spool import Spool

ABSTRACTS = ("abstract", "text", "body")  # where an abstract may be, in the order in which they are looked for
TITLE_ABSTRACT, TITLE_TITLE, SWAPPED = "title-abstract", "title-title", "swapped"
SHAPES = {TITLE_ABSTRACT: (TITLE, ABSTRACT), TITLE_TITLE: (TITLE, TITLE), SWAPPED: (ABSTRACT, TITLE)}
EXTRA = {"fold": "int64", "shape": "string"}
MOST_FOLDS, FOLD_SIZE = 100, 20  # a fold must have documents enough to draw from
TRIES = 10  # draws of a partner that says something else


class Made(NamedTuple):
    """A pair, the fold of its documents, and which shape it has."""

    pair: Pair
    fold: int
    shape: str


@dataclass(frozen=True)
class SelfSupervised:
    """Settings of pairs that are made of documents alone.

    A pair is false with probability `false_pairs`: the other text is then another document's. So many of the pairs are
    title and title (`title_title`), so many are abstract and title (`swapped`), the others title and abstract. Both
    texts of a pair are perturbed on their own. `title` and `abstract` name the fields that are taken for these
    (the abstract is looked for where it has no name); `per_document` pairs have a document's text as the query.

    What becomes of a document depends on the seed and its id, and for false pairs on the collection; not on how the
    work is cut into pieces. Partners come from the same of up to 100 folds, so that folds share no document.
    """

    title: str = "title"
    abstract: str | None = None
    false_pairs: float = 0.6
    title_title: float = 0.1
    swapped: float = 0.1
    perturbations: tuple[Perturbation, ...] = PERTURBATIONS
    per_document: int = 1
    seed: int = 0
    skipped: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("false_pairs", "title_title", "swapped"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(name, expected="a probability from 0 to 1", found=getattr(self, name))
        if self.title_title + self.swapped > 1:
            found = self.title_title + self.swapped
            raise ParameterError("title_title + swapped", expected="at most 1 in all", found=found)
        if self.per_document < 1:
            raise ParameterError("per_document", expected="a number from 1", found=self.per_document)

    def made(self) -> dict[str, Any]:
        """The settings in plain words, for the record."""
        return {
            "kind": "self-supervised",
            "title": self.title,
            "abstract": self.abstract,
            "false_pairs": self.false_pairs,
            "title_title": self.title_title,
            "swapped": self.swapped,
            "perturbations": [f"{p.family} ({p.part}) {p.probability:g}" for p in self.perturbations],
            "per_document": self.per_document,
        }

    def pairs(self, documents: Spool, limit: int | None = None) -> Iterator[Made]:
        """Pair after pair, in the order of the documents; `skipped` then says what could not be used, and why.

        At most `limit` of them, of documents drawn at random: a collection's first ones may be all of one kind.
        """
        fields = {TITLE: self.title, ABSTRACT: self.abstract_field(documents)}
        usable = np.array(
            [number for number in range(len(documents)) if _has(documents.at(number), fields)], dtype=np.int64
        )
        self.skipped["documents without title or abstract"] = len(documents) - len(usable)
        if len(usable) < 2:  # noqa: PLR2004 -- a document and a partner
            raise RankwellError(f"pairs: expected two documents or more with {_both(fields)}, {_found(documents)}")
        folds = Folds.drawn(len(usable), self.seed)
        wanted = len(usable) if limit is None else -(-limit // self.per_document)
        for place in np.sort(folds.order[:wanted]).tolist():
            own = documents.at(usable[place])
            for repeat in range(self.per_document):
                # One source of chance a pair, lest one pair's draws move the next one's.
                chooser = random.Random(f"{self.seed}/{repeat}/{own.id}")  # noqa: S311 -- reproducible, no secret
                yield from self._pair(own, fields, _Partners(documents, usable, folds, place), chooser)

    def abstract_field(self, documents: Spool) -> str:
        """The field that holds abstracts; an error that says what there is where none does."""
        wanted = ABSTRACTS if self.abstract is None else (self.abstract,)
        found = next((name for name in wanted if documents.fields[name]), None)
        if found is None or not documents.fields[self.title]:
            raise RankwellError(
                f"pairs: expected documents with fields {self.title} and {' or '.join(wanted)}, {_found(documents)}"
            )
        return found

    def _pair(
        self, own: Document, fields: dict[str, str], partners: _Partners, chooser: random.Random
    ) -> Iterator[Made]:
        shape = self._shape(chooser.random())
        asked, answer = SHAPES[shape]
        false = chooser.random() < self.false_pairs
        other = partners.draw(own, fields[answer], chooser) if false else own
        if other is None:
            self.skipped["false pairs without a partner"] = self.skipped.get("false pairs without a partner", 0) + 1
            return
        query = perturbed(own.fields[fields[asked]], asked, self.perturbations, chooser)
        document = perturbed(other.fields[fields[answer]], answer, self.perturbations, chooser)
        yield Made(Pair(own.id, other.id, query, document, float(not false)), partners.fold, shape)

    def _shape(self, drawn: float) -> str:
        if drawn < self.title_title:
            return TITLE_TITLE
        return SWAPPED if drawn < self.title_title + self.swapped else TITLE_ABSTRACT


@dataclass(frozen=True, eq=False)
class Folds:
    """Places of documents shared out evenly: fold f has `order[f::count]`."""

    order: Integers
    rank: Integers  # of each place in that order
    count: int

    @classmethod
    def drawn(cls, documents: int, seed: int) -> Folds:
        """As many folds as have documents enough."""
        order = np.random.default_rng(seed).permutation(documents)
        rank = np.empty_like(order)
        rank[order] = np.arange(documents)
        return cls(order, rank, min(max(documents // FOLD_SIZE, 1), MOST_FOLDS))

    def of(self, place: int) -> int:
        """The fold of a place."""
        return int(self.rank[place] % self.count)

    def another(self, place: int, chooser: random.Random) -> int:
        """Another place of the same fold."""
        own = int(self.rank[place] // self.count)
        size = len(range(self.of(place), len(self.order), self.count))
        drawn = chooser.randrange(size - 1)
        return int(self.order[self.of(place) + self.count * (drawn + (drawn >= own))])


class _Partners(NamedTuple):
    """Where a document's partners come from."""

    documents: Spool
    usable: Integers
    folds: Folds
    place: int

    @property
    def fold(self) -> int:
        return self.folds.of(self.place)

    def draw(self, own: Document, name: str, chooser: random.Random) -> Document | None:
        """Another document with another text: collections have doubles, and a false pair of such would be true."""
        for _ in range(TRIES):
            other = self.documents.at(self.usable[self.folds.another(self.place, chooser)])
            if other.fields[name] != own.fields[name]:
                return other
        return None


def _has(document: Document, fields: dict[str, str]) -> bool:
    return all(name in document.fields for name in fields.values())


def _both(fields: dict[str, str]) -> str:
    return " and ".join(fields.values())


def _found(documents: Spool) -> str:
    told = ", ".join(f"{name} in {count:,}" for name, count in documents.fields.most_common()) or "no text at all"
    return f"found {len(documents):,} documents: {told}"
