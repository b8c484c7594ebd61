"""Finished reviews, whose answers are known: what rankers are measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rankwell.collections import Collection, Reading
from rankwell.core import Judgments, ParameterError, Query
from rankwell.core.errors import Phrase
from rankwell.reviews.statistics import judgments_of

Labels = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Labelled:
    """A finished review: its title, the text of every record, which were included, and the records' ids if any."""

    name: str
    topic: str
    records: Sequence[str] = field(repr=False)
    included: Labels = field(repr=False)
    docnos: Sequence[str] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if len(self.records) != len(self.included):
            found = Phrase(f"{len(self.records)} records, {len(self.included)} answers")
            raise ParameterError(self.name, expected="an answer for every record", found=found)
        if self.docnos and len(self.docnos) != len(self.records):
            found = Phrase(f"{len(self.records)} records, {len(self.docnos)} ids")
            raise ParameterError(self.name, expected="an id for every record", found=found)
        if self.included.all() or not self.included.any():
            found = Phrase(f"{int(self.included.sum())} of {len(self.records)} included")
            raise ParameterError(self.name, expected="included and excluded records", found=found)


@dataclass(frozen=True)
class ReadReviews:
    """The reviews of a split, and what had to be left out of it."""

    reviews: tuple[Labelled, ...]
    one_sided: tuple[str, ...] = ()
    missing: int = 0

    def notes(self) -> list[str]:
        """What was left out, in words."""
        notes = []
        if self.one_sided:
            names = ", ".join(self.one_sided)
            notes.append(f"left out, because they have no included or no excluded records: {names}")
        if self.missing:
            notes.append(f"left out: {self.missing:,} judgments whose review or document is not there")
        return notes


def labelled_reviews(collection: Collection, split: str, reading: Reading | None = None) -> ReadReviews:
    """The reviews of one split (or of all) of a collection, with titles as topics and whole texts as records."""
    reading = reading or Reading()
    judgments = judgments_of(collection, split, reading)
    queries = collection.queries(reading=reading)
    return from_judgments(judgments, queries, texts_of(collection, [judgments], reading))


def texts_of(collection: Collection, judgments: Iterable[Judgments], reading: Reading) -> dict[str, str]:
    """Document -> its text (title and abstract, in the document's order), of those that were judged."""
    judged = {docno for of in judgments for grades in of.values() for docno in grades}
    documents = reading.progress.track(collection.documents(reading))
    return {document.id: document.text() for document in documents if document.id in judged}


def from_judgments(judgments: Judgments, queries: Mapping[str, Query], texts: Mapping[str, str]) -> ReadReviews:
    """A review for each query that has relevant and other documents; grades above 0 were included."""
    found, one_sided, missing = [], [], 0
    for qid, grades in judgments.items():
        docnos = [docno for docno in grades if docno in texts] if qid in queries else []
        missing += len(grades) - len(docnos)
        included = np.array([grades[docno] > 0 for docno in docnos], dtype=bool)
        if included.any() and not included.all():
            records = [texts[docno] for docno in docnos]
            found.append(Labelled(qid, queries[qid].text(), records, included, tuple(docnos)))
        else:
            one_sided.append(qid)
    return ReadReviews(tuple(found), tuple(one_sided), missing)


def judgments_of_reviews(reviews: Iterable[Labelled]) -> Judgments:
    """Back to judgments, for measures that take them."""
    return Judgments(
        (review.name, docno, int(included))
        for review in reviews
        for docno, included in zip(review.docnos, review.included.tolist(), strict=True)
    )
