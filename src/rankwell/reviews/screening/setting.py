"""What a ranker is given: the reviews to rank, and those of other splits that it may learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rankwell.collections import Collection, Reading
from rankwell.collections.collection import DEFAULT_SPLITS
from rankwell.core import RankwellError
from rankwell.reviews.screening.labelled import Labelled, ReadReviews, from_judgments, texts_of
from rankwell.reviews.screening.reader import MODEL
from rankwell.reviews.statistics import ALL, judgments_of

TRAINING, VALIDATION = ("train",), ("validation", "dev")
FEWEST_INCLUDED = 2  # one to start from, one to find


@dataclass(frozen=True)
class Setting:
    """What there is besides the review in hand.

    `reviews` are those to be ranked, `training` and `validation` those of the collection's other splits, if it has any.
    A ranker says in `notes` what a reader of its figures should know. `model` is that of rankers that read (BERT).
    """

    reviews: Sequence[Labelled]
    training: Sequence[Labelled] = ()
    validation: Sequence[Labelled] = ()
    seed: int = 0
    split: str = ""
    notes: list[str] = field(default_factory=list)
    model: str = MODEL

    def for_replay(self) -> Setting:
        """Without reviews that have nothing left to find once the first included record is known."""
        kept = [review for review in self.reviews if review.included.sum() >= FEWEST_INCLUDED]
        if not kept:
            raise RankwellError(f"{self.split}: expected reviews with {FEWEST_INCLUDED} included records, found none")
        left_out = [review.name for review in self.reviews if review.included.sum() < FEWEST_INCLUDED]
        notes = [f"left out, because only one record was included: {', '.join(left_out)}"] if left_out else []
        return replace(self, reviews=kept, notes=[*self.notes, *notes])


def read_setting(
    collection: Collection,
    split: str | None = None,
    *,
    learning: bool = False,
    seed: int = 0,
    reading: Reading | None = None,
) -> Setting:
    """Read a split of a collection, and, for rankers that learn from other reviews, its training and validation."""
    reading = reading or Reading()
    asked = split or next((name for name in DEFAULT_SPLITS if name in collection.splits), ALL)
    names = [asked, *(_other(collection, known, asked) if learning else None for known in (TRAINING, VALIDATION))]
    judgments = [judgments_of(collection, name, reading) if name else None for name in names]
    queries = collection.queries(reading=reading)
    texts = texts_of(collection, [of for of in judgments if of], reading)
    found, training, validation = (from_judgments(of, queries, texts) if of else ReadReviews(()) for of in judgments)
    if not found.reviews:
        expected = f"reviews with included and excluded records in the split {asked!r}"
        raise RankwellError(f"{collection.name}: expected {expected}, found none")
    return Setting(found.reviews, training.reviews, validation.reviews, seed, asked, found.notes())


def _other(collection: Collection, known: Sequence[str], asked: str) -> str | None:
    """The split of such a name, unless it is the one that is ranked."""
    there = [name for name in known if name in collection.splits]
    return None if asked == ALL or asked in known or not there else there[0]
