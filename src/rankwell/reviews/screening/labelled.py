"""Finished reviews with known labels, and the data that rankers may learn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from rankwell.collections import Collection, Reading
from rankwell.collections.collection import DEFAULT_SPLITS
from rankwell.core import Judgments, ParameterError, Phrase, Query, RankwellError
from rankwell.reviews.screening.reader import MODEL
from rankwell.reviews.statistics import ALL, judgments_of

Labels = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabelledReview:
    """A finished review: its title, the records' texts, which were included, and the records' ids if any."""

    name: str
    topic: str
    records: Sequence[str] = field(repr=False)
    included: Labels = field(repr=False)
    docnos: Sequence[str] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        count = len(self.records)
        for what, others in (("answer", len(self.included)), ("id", len(self.docnos) or count)):
            if others != count:
                found = Phrase(f"{count} records, {others} {what}s")
                raise ParameterError(self.name, expected=f"an {what} for every record", found=found)
        if self.included.all() or not self.included.any():
            found = Phrase(f"{int(self.included.sum())} of {len(self.records)} included")
            raise ParameterError(self.name, expected="included and excluded records", found=found)


@dataclass(frozen=True)
class ReadReviews:
    """The reviews of a split, and what was left out of it."""

    reviews: tuple[LabelledReview, ...]
    one_sided: tuple[str, ...] = ()
    missing: int = 0

    def notes(self) -> list[str]:
        """Sentences on what was left out."""
        names = ", ".join(self.one_sided)
        notes = {
            f"left out, because they have no included or no excluded records: {names}": self.one_sided,
            f"left out: {self.missing:,} judgments whose review or document is not there": self.missing,
        }
        return [note for note, some in notes.items() if some]


def labelled_reviews(collection: Collection, split: str, reading: Reading | None = None) -> ReadReviews:
    """The reviews of one split (or of all) of a collection, with titles as topics and whole texts as records."""
    reading = reading or Reading()
    judgments = judgments_of(collection, split, reading)
    queries = collection.queries(reading=reading)
    return from_judgments(judgments, queries, texts_of(collection, [judgments], reading))


def texts_of(collection: Collection, judgments: Iterable[Judgments], reading: Reading) -> dict[str, str]:
    """Document -> text (title and abstract, in the document's order), of the judged documents."""
    judged = {docno for of in judgments for grades in of.values() for docno in grades}
    documents = reading.progress.track(collection.documents(reading))
    return {document.id: document.text() for document in documents if document.id in judged}


def from_judgments(judgments: Judgments, queries: Mapping[str, Query], texts: Mapping[str, str]) -> ReadReviews:
    """A review for each query that has relevant and other documents; grades above 0 were included."""
    reviews, one_sided, missing = [], [], 0
    for qid, grades in judgments.items():
        docnos = [docno for docno in grades if docno in texts] if qid in queries else []
        missing += len(grades) - len(docnos)
        included = np.array([grades[docno] > 0 for docno in docnos], dtype=bool)
        if included.any() and not included.all():
            records = [texts[docno] for docno in docnos]
            reviews.append(LabelledReview(qid, queries[qid].text(), records, included, tuple(docnos)))
        else:
            one_sided.append(qid)
    return ReadReviews(tuple(reviews), tuple(one_sided), missing)


def judgments_of_reviews(reviews: Iterable[LabelledReview]) -> Judgments:
    """The reviews' labels as judgments."""
    return Judgments(
        (review.name, docno, int(included))
        for review in reviews
        for docno, included in zip(review.docnos, review.included.tolist(), strict=True)
    )


TRAINING, VALIDATION = ("train",), ("validation", "dev")
FEWEST_INCLUDED = 2  # one to start from, one to find


@dataclass(frozen=True)
class Setting:
    """The reviews to rank, and those to learn from.

    `training` and `validation` are the reviews of the collection's other splits, if it has any.
    Rankers put notes for the reader into `notes`. `model` is the BERT model of rankers that have one.
    """

    reviews: Sequence[LabelledReview]
    training: Sequence[LabelledReview] = ()
    validation: Sequence[LabelledReview] = ()
    seed: int = 0
    split: str = ""
    notes: list[str] = field(default_factory=list)
    model: str = MODEL

    def for_replay(self) -> Setting:
        """Without reviews that have only one included record, which is known at the start."""
        kept = [review for review in self.reviews if review.included.sum() >= FEWEST_INCLUDED]
        if not kept:
            raise RankwellError(f"{self.split}: expected reviews with {FEWEST_INCLUDED} included records, found none")
        left_out = ", ".join(review.name for review in self.reviews if review not in kept)
        notes = [f"left out, because only one record was included: {left_out}"] if left_out else []
        return replace(self, reviews=kept, notes=[*self.notes, *notes])


def read_setting(
    collection: Collection,
    split: str | None = None,
    *,
    learning: bool = False,
    seed: int = 0,
    reading: Reading | None = None,
) -> Setting:
    """Read a split of a collection; for rankers that learn from other reviews also its training and validation."""
    reading = reading or Reading()
    asked = split or next((name for name in DEFAULT_SPLITS if name in collection.splits), ALL)
    names = [asked, *(_other(collection, known, asked) if learning else None for known in (TRAINING, VALIDATION))]
    judgments = [judgments_of(collection, name, reading) if name else None for name in names]
    queries = collection.queries(reading=reading)
    texts = texts_of(collection, [of for of in judgments if of], reading)
    chosen, training, validation = (from_judgments(of, queries, texts) if of else ReadReviews(()) for of in judgments)
    if not chosen.reviews:
        expected = f"reviews with included and excluded records in the split {asked!r}"
        raise RankwellError(f"{collection.name}: expected {expected}, found none")
    return Setting(chosen.reviews, training.reviews, validation.reviews, seed, asked, chosen.notes())


def _other(collection: Collection, known: Sequence[str], asked: str) -> str | None:
    """The split with one of the known names, unless it is the one to rank."""
    there = [name for name in known if name in collection.splits]
    return None if asked == ALL or asked in known or not there else there[0]
