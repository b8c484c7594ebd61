"""From reviews and the studies that were found to a collection that can be trained and measured on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rankwell.core import Document, Judgments, ParameterError
from rankwell.core.judgments import Judgment
from rankwell.reviews.finding import FoundStudy
from rankwell.reviews.matching import Verdict
from rankwell.reviews.review import Review
from rankwell.reviews.splitting import SHARES, SPLITS, relevant_examples, split_reviews

FEWEST = 30


@dataclass(frozen=True)
class BuildSettings:
    """What is kept, and how it is split.

    fewest               a review is kept from so many documents on (S3: 30)
    needs_abstract       documents without an abstract are left out, as S3 has it
    shares, seed         of training, validation and test, drawn by review
    """

    fewest: int = FEWEST
    needs_abstract: bool = True
    shares: Sequence[float] = SHARES
    seed: int = 0

    def __post_init__(self) -> None:
        if self.fewest < 1:
            raise ParameterError("fewest", expected="a number of documents, at least 1", found=self.fewest)
        split_reviews([], self.shares, self.seed)  # which says what is wrong with the shares


@dataclass(frozen=True)
class ReviewCollection:
    """Reviews as queries, articles as documents, and what the reviews decided as judgments, split by review."""

    reviews: tuple[Review, ...]
    documents: dict[str, Document]
    labels: dict[str, dict[str, int]]
    splits: dict[str, str]
    examples: dict[tuple[str, str], str]
    studies: tuple[FoundStudy, ...] = field(repr=False)
    settings: BuildSettings = BuildSettings()
    conflicts: int = 0

    def judgments(self, split: str) -> Judgments:
        """Review -> document -> 1 or 0, of one split."""
        rows = (
            Judgment(review, docno, label)
            for review, grades in self.labels.items()
            if self.splits[review] == split
            for docno, label in grades.items()
        )
        return Judgments(rows)

    @cached_property
    def verdicts(self) -> Counter[Verdict]:
        """How many studies were found, not found, or are for a person to decide."""
        return Counter(study.match.verdict for study in self.studies)

    def counts(self) -> dict[str, dict[str, int]]:
        """Reviews, rows and relevant rows of each split."""
        found = {}
        for split in SPLITS:
            own = [grades for review, grades in self.labels.items() if self.splits[review] == split]
            rows = sum(map(len, own))
            found[split] = {"reviews": len(own), "rows": rows, "relevant": sum(sum(of.values()) for of in own)}
        return found


def build_collection(
    reviews: Sequence[Review], studies: Iterable[FoundStudy], settings: BuildSettings | None = None
) -> ReviewCollection:
    """Put the found articles together.

    An article that a review both includes and excludes (two reports of one study) counts as included. Reviews with too
    few documents are left out, with the documents that only they have.
    """
    settings = settings or BuildSettings()
    found = tuple(studies)
    documents: dict[str, Document] = {}
    labels: dict[str, dict[str, int]] = {review.id: {} for review in reviews}
    conflicts = 0
    for study in found:
        article = study.match.article
        if article is None or (settings.needs_abstract and not article.fields.get("abstract")):
            continue
        grades = labels[study.review.id]
        conflicts += article.id in grades and grades[article.id] != study.label
        grades[article.id] = max(study.label, grades.get(article.id, 0))
        documents[article.id] = article
    kept = {review: grades for review, grades in labels.items() if len(grades) >= settings.fewest}
    used = {docno for grades in kept.values() for docno in grades}
    splits = split_reviews(list(kept), settings.shares, settings.seed)
    with_abstract = [docno for docno in used if documents[docno].fields.get("abstract")]
    return ReviewCollection(
        reviews=tuple(review for review in reviews if review.id in kept),
        documents={docno: document for docno, document in documents.items() if docno in used},
        labels=kept,
        splits=splits,
        examples=relevant_examples(kept, splits, with_abstract, settings.seed),
        studies=found,
        settings=settings,
        conflicts=conflicts,
    )
