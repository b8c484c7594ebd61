"""Pairs without judgments: titles as queries, abstracts as relevant documents (COVID-19 study, 3.3.2, 4.2)."""

from __future__ import annotations

import random
import string
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple, Self

import numpy as np
import orjson

from rankwell.analysis import STOPWORDS
from rankwell.core import Document, Integers, ParameterError, RankwellError
from rankwell.core.parameters import Number, Text, Whole, check_parameters, param
from rankwell.models.learning.pairs import Pair

TITLE, ABSTRACT = "title", "abstract"

Change = Callable[[str, random.Random], str]


@dataclass(frozen=True)
class Perturbation:
    """Changes titles or abstracts with a probability. `family` is the name by which users choose it."""

    family: str
    part: str
    probability: float
    change: Change

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ParameterError(self.family, expected="a probability from 0 to 1", found=self.probability)

    def __call__(self, text: str, chooser: random.Random) -> str:
        """The text, perturbed with the given probability."""
        return self.change(text, chooser) if chooser.random() < self.probability else text


def perturbed(text: str, part: str, perturbations: Iterable[Perturbation], chooser: random.Random) -> str:
    """A title or an abstract after all its perturbations, one after the other."""
    for perturbation in perturbations:
        if perturbation.part == part:
            text = perturbation(text, chooser)
    return text


SHORTEST_TITLE, SHORTEST_ABSTRACT = 2, 20  # words


def piece(text: str, chooser: random.Random, shortest: int = 1) -> str:
    """A random run of consecutive words: length, then start, each drawn uniformly.

    At least `shortest` words and at most all but one; a text of at most `shortest` words stays unchanged.
    """
    words = text.split()
    if len(words) <= shortest:
        return text
    size = chooser.randint(shortest, len(words) - 1)
    start = chooser.randint(0, len(words) - size)
    return " ".join(words[start : start + size])


piece_of_title = partial(piece, shortest=SHORTEST_TITLE)
piece_of_abstract = partial(piece, shortest=SHORTEST_ABSTRACT)


def shuffled(text: str, chooser: random.Random) -> str:
    """The same words in a random order."""
    words = text.split()
    chooser.shuffle(words)
    return " ".join(words)


AROUND = string.punctuation + "\u201c\u201d\u2018\u2019"  # quotation marks


def without_stop_words(
    text: str,
    chooser: random.Random,  # noqa: ARG001 -- signature of all perturbations
    stopwords: Collection[str] = STOPWORDS["s0"],
) -> str:
    """Remove the stop words of the COVID-19 study's list (appendix A.3), unless nothing would remain."""
    kept = [word for word in text.split() if word.strip(AROUND).lower() not in stopwords]
    return " ".join(kept) if kept else text


# In the order of application: first an excerpt, then stop words, then word order.
ALL_PERTURBATIONS: tuple[Perturbation, ...] = (
    Perturbation("short", TITLE, 0.2, piece_of_title),
    Perturbation("short", ABSTRACT, 0.3, piece_of_abstract),
    Perturbation("stopwords", TITLE, 0.4, without_stop_words),
    Perturbation("stopwords", ABSTRACT, 0.0, without_stop_words),
    Perturbation("shuffle", TITLE, 0.2, shuffled),
    Perturbation("shuffle", ABSTRACT, 0.0, shuffled),
)
"""With the COVID-19 study's probabilities; it leaves the stop words and the order of abstracts as they are."""
PERTURBATIONS = tuple(perturbation for perturbation in ALL_PERTURBATIONS if perturbation.probability)

FAMILIES = tuple(dict.fromkeys(perturbation.family for perturbation in ALL_PERTURBATIONS))


def parse_perturbations(text: str) -> tuple[Perturbation, ...]:
    """Parse `all`, `none`, or families such as `short,stopwords=0.5,stopwords:abstract=0.2`.

    A number replaces the default probability: that of the study's part or parts, or of the named part alone.
    """
    if text in ("all", "none"):
        return PERTURBATIONS if text == "all" else ()
    wanted: dict[tuple[str, str], float] = {}
    for entry in text.split(","):
        name, given, number = entry.strip().partition("=")
        family, named, part = name.partition(":")
        if family not in FAMILIES or (named and part not in (TITLE, ABSTRACT)):
            expected = f"all, none, or some of {', '.join(FAMILIES)}, for one part as in {FAMILIES[0]}:{TITLE}"
            raise ParameterError("perturb", expected=expected, found=name)
        if named and not given:
            raise ParameterError("perturb", expected=f"a probability, as in {name}=0.4", found=name)
        for usual in ALL_PERTURBATIONS:
            if usual.family == family and (usual.part == part if named else usual.probability):
                wanted[family, usual.part] = _probability(name, number) if given else usual.probability
    chosen = (
        replace(usual, probability=wanted[usual.family, usual.part])
        for usual in ALL_PERTURBATIONS
        if (usual.family, usual.part) in wanted
    )
    return tuple(perturbation for perturbation in chosen if perturbation.probability)


def _probability(family: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(family, expected="a probability from 0 to 1", found=text) from error


class Spool(Mapping[str, Document]):
    """The fields of all documents, by number and by id, in a temporary file.

    Memory holds the ids and 8 bytes a document. `fields` counts the documents that have each field.
    """

    def __init__(self, documents: Iterable[Document], folder: Path | str | None = None) -> None:
        self.fields: Counter[str] = Counter()
        self._numbers: dict[str, int] = {}
        self._ends = array("q", [0])
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 -- closed with the spool
        for document in documents:
            if document.id in self._numbers:  # the first one counts, as in an index
                continue
            texts = {name: text for name, text in document.fields.items() if text.strip()}
            self.fields.update(texts.keys())
            record = orjson.dumps([document.id, texts])
            self._file.write(record)
            self._numbers[document.id] = len(self._numbers)
            self._ends.append(self._ends[-1] + len(record))
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __contains__(self, docno: object) -> bool:
        return docno in self._numbers

    def __getitem__(self, docno: str) -> Document:
        return self.at(self._numbers[docno])

    def at(self, number: int) -> Document:
        """The document with this number, from 0, in the order in which they came."""
        start = self._ends[number]
        self._file.seek(start)
        docno, fields = orjson.loads(self._file.read(self._ends[number + 1] - start))
        return Document(docno, fields)


ABSTRACTS = ("abstract", "text", "body")  # candidate fields of the abstract, in order of preference
TITLE_ABSTRACT, TITLE_TITLE, SWAPPED = "title-abstract", "title-title", "swapped"
SHAPES = {TITLE_ABSTRACT: (TITLE, ABSTRACT), TITLE_TITLE: (TITLE, TITLE), SWAPPED: (ABSTRACT, TITLE)}
EXTRA = {"fold": "int64", "shape": "string"}
MOST_FOLDS, FOLD_SIZE = 100, 20  # fewest documents of a fold
TRIES = 10  # draws until a partner with another text is found


class UnlabelledPair(NamedTuple):
    """A pair, the fold of its documents, and its shape."""

    pair: Pair
    fold: int
    shape: str

    @property
    def columns(self) -> dict[str, Any]:
        """The values of the columns besides those of `Pair`."""
        return {"fold": self.fold, "shape": self.shape}


@dataclass(frozen=True)
class SelfSupervised:
    """Settings of pairs made from documents alone.

    In a false pair the other text is another document's. Pairs are title-abstract but for the shares `title_title` and
    `swapped`; both texts of a pair are perturbed independently.

    A document's pairs depend on the seed and its id, and for false pairs on the collection; not on how the
    work is divided. Partners come from the same one of up to 100 folds, so that folds share no document.
    """

    columns: ClassVar[Mapping[str, str]] = EXTRA

    title: str = param("title", "Self-supervised: field with the titles.", Text())
    abstract: str | None = param(
        None, f"Self-supervised: field with the abstracts (default: {' or '.join(ABSTRACTS)}).", Text()
    )
    false_pairs: float = param(0.6, "Self-supervised: share of false pairs.", Number(0, 1))
    title_title: float = param(0.1, "Self-supervised: share of title-title pairs.", Number(0, 1))
    swapped: float = param(0.1, "Self-supervised: share of abstract-title pairs.", Number(0, 1))
    perturbations: tuple[Perturbation, ...] = param(
        "all",
        "Self-supervised: changes of texts: all, none, or some of short,stopwords=0.4,shuffle:title=0.2.",
        Text(),
        flags=("--perturb",),
    )
    per_document: int = param(1, "Self-supervised: pairs for each document.", Whole(1))
    seed: int = param(0, "Random seed for everything that is drawn.", Whole())
    skipped: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.perturbations, str):
            object.__setattr__(self, "perturbations", parse_perturbations(self.perturbations))
        check_parameters(self, but=["perturbations"])
        if self.title_title + self.swapped > 1:
            found = self.title_title + self.swapped
            raise ParameterError("title_title + swapped", expected="at most 1 in all", found=found)

    def made(self) -> dict[str, Any]:
        """The settings as a dictionary, for the record."""
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

    def pairs(self, documents: Spool, limit: int | None = None) -> Iterator[UnlabelledPair]:
        """The pairs in the order of the documents; `skipped` then counts unused input by reason.

        At most `limit`, from documents drawn at random: the first ones of a collection may be all of one kind.
        """
        fields = {TITLE: self.title, ABSTRACT: self.abstract_field(documents)}
        needed = set(fields.values())
        having = [number for number in range(len(documents)) if needed <= documents.at(number).fields.keys()]
        usable = np.array(having, dtype=np.int64)
        self.skipped["documents without title or abstract"] = len(documents) - len(usable)
        if len(usable) < 2:  # noqa: PLR2004 -- a document and a partner
            both = " and ".join(fields.values())
            raise RankwellError(f"pairs: expected two documents or more with {both}, {_found(documents)}")
        folds = Folds.drawn(len(usable), self.seed)
        wanted = len(usable) if limit is None else -(-limit // self.per_document)
        for place in np.sort(folds.order[:wanted]).tolist():
            own = documents.at(usable[place])
            for repeat in range(self.per_document):
                # A random generator per pair, so that draws for one pair do not affect the next.
                chooser = random.Random(f"{self.seed}/{repeat}/{own.id}")  # noqa: S311 -- reproducible, no secret
                yield from self._pair(own, fields, _Partners(documents, usable, folds, place), chooser)

    def abstract_field(self, documents: Spool) -> str:
        """The field with the abstracts; where there is none, the error lists the fields."""
        wanted = ABSTRACTS if self.abstract is None else (self.abstract,)
        name = next((name for name in wanted if documents.fields[name]), None)
        if name is None or not documents.fields[self.title]:
            raise RankwellError(
                f"pairs: expected documents with fields {self.title} and {' or '.join(wanted)}, {_found(documents)}"
            )
        return name

    def _pair(
        self, own: Document, fields: dict[str, str], partners: _Partners, chooser: random.Random
    ) -> Iterator[UnlabelledPair]:
        shape = self._shape(chooser.random())
        asked, answer = SHAPES[shape]
        false = chooser.random() < self.false_pairs
        other = partners.draw(own, fields[answer], chooser) if false else own
        if other is None:
            self.skipped["false pairs without a partner"] = self.skipped.get("false pairs without a partner", 0) + 1
            return
        query = perturbed(own.fields[fields[asked]], asked, self.perturbations, chooser)
        document = perturbed(other.fields[fields[answer]], answer, self.perturbations, chooser)
        yield UnlabelledPair(Pair(own.id, other.id, query, document, float(not false)), partners.fold, shape)

    def _shape(self, drawn: float) -> str:
        if drawn < self.title_title:
            return TITLE_TITLE
        return SWAPPED if drawn < self.title_title + self.swapped else TITLE_ABSTRACT


@dataclass(frozen=True, eq=False)
class Folds:
    """Documents divided evenly into folds: fold f has `order[f::count]`."""

    order: Integers
    rank: Integers  # the position of each document in that order
    count: int

    @classmethod
    def drawn(cls, documents: int, seed: int) -> Folds:
        """Divide at random into as many folds as have enough documents."""
        order = np.random.default_rng(seed).permutation(documents)
        rank = np.empty_like(order)
        rank[order] = np.arange(documents)
        return cls(order, rank, min(max(documents // FOLD_SIZE, 1), MOST_FOLDS))

    def of(self, place: int) -> int:
        """The fold of a document."""
        return int(self.rank[place] % self.count)

    def another(self, place: int, chooser: random.Random) -> int:
        """Another document of the same fold."""
        own = int(self.rank[place] // self.count)
        size = len(range(self.of(place), len(self.order), self.count))
        drawn = chooser.randrange(size - 1)
        return int(self.order[self.of(place) + self.count * (drawn + (drawn >= own))])


class _Partners(NamedTuple):
    """Draws partners for false pairs."""

    documents: Spool
    usable: Integers
    folds: Folds
    place: int

    @property
    def fold(self) -> int:
        return self.folds.of(self.place)

    def draw(self, own: Document, name: str, chooser: random.Random) -> Document | None:
        """Another document with a different text: a duplicate would make a false pair true."""
        for _ in range(TRIES):
            other = self.documents.at(self.usable[self.folds.another(self.place, chooser)])
            if other.fields[name] != own.fields[name]:
                return other
        return None


def _found(documents: Spool) -> str:
    told = ", ".join(f"{name} in {count:,}" for name, count in documents.fields.most_common()) or "no text at all"
    return f"found {len(documents):,} documents: {told}"
