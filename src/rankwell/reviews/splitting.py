"""Which reviews are for training, validation and testing, and which abstract goes with which as an example."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from rankwell.core import ParameterError

SPLITS = ("train", "validation", "test")
SHARES = (0.85, 0.075, 0.075)  # S3's


def split_reviews(reviews: Sequence[str], shares: Sequence[float] = SHARES, seed: int = 0) -> dict[str, str]:
    """Review id -> split. Whole reviews are drawn, so that no query stands on two sides.

    From three reviews on, validation and test get at least one each. The draw depends on the ids and the seed alone,
    not on the order of the reviews.
    """
    if len(shares) != len(SPLITS) or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:  # noqa: PLR2004 -- rounding
        raise ParameterError("shares", expected="three shares (train, validation, test) that sum to 1", found=shares)
    drawn = sorted(set(reviews))
    random.Random(seed).shuffle(drawn)  # noqa: S311 -- a draw that can be repeated, no secret
    least = 1 if len(drawn) >= len(SPLITS) else 0
    validation, test = (max(round(share * len(drawn)), least if share else 0) for share in shares[1:])
    sides = ["validation"] * validation + ["test"] * test
    sides += ["train"] * (len(drawn) - len(sides))
    return dict(zip(drawn, sides, strict=False))


def relevant_examples(
    judgments: Mapping[str, Mapping[str, int]], splits: Mapping[str, str], usable: Iterable[str], seed: int = 0
) -> dict[tuple[str, str], str]:
    """(review, document) -> a random relevant document of the same review, as the models with a known abstract need.

    Never the document itself, and never one that also stands in a review of another split, since it would carry what
    is known there across. Pairs for which there is none are left out. `usable` are the documents with an abstract.
    """
    sides: dict[str, set[str]] = {}
    for review, grades in judgments.items():
        for docno in grades:
            sides.setdefault(docno, set()).add(splits[review])
    allowed = {docno for docno in usable if len(sides.get(docno, ())) == 1}
    examples: dict[tuple[str, str], str] = {}
    for review, grades in judgments.items():
        relevant = sorted(docno for docno, grade in grades.items() if grade > 0 and docno in allowed)
        lots = random.Random(f"{seed}\0{review}")  # noqa: S311 -- a draw that can be repeated, no secret
        places = {docno: place for place, docno in enumerate(relevant)}
        for docno in sorted(grades):
            own = places.get(docno, len(relevant))
            others = len(relevant) - (docno in places)
            if others:
                drawn = lots.randrange(others)
                examples[review, docno] = relevant[drawn + (drawn >= own)]
    return examples
