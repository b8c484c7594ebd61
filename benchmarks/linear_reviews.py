"""TF-IDF + logistic regression on systematic reviews: each review ranked by a model of the others, beside BM25.

python benchmarks/linear_reviews.py COLLECTION... [--together]

A collection has reviews as queries, and judgments that say which records were included. The four models read query +
abstract (QA) or query + title + abstract (QTA), as they are or cleaned; all else as in the systematic-review study
(1-3 grams, min_df 8), and nothing was chosen by looking at the result. With --together the reviews of all collections
are one set, so that a model has more reviews to learn from.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression

from rankwell.collections import open_collection
from rankwell.core import Document, Judgments, Run
from rankwell.evaluation import Comparison, compare
from rankwell.evaluation.significance import PairedDifference
from rankwell.models.linear.ranking import Words
from rankwell.models.linear.training import LinearSettings
from rankwell.reviews.screening.rankers import topic_scores

MEASURES = ("AP", "AUC(by='query')")
TEXT = ("text", "abstract")
MODELS = {
    "TF-IDF + LR, QA": (TEXT, False),
    "TF-IDF + LR, QTA": (("title", *TEXT), False),
    "TF-IDF + LR, QA, cleaned": (TEXT, True),
    "TF-IDF + LR, QTA, cleaned": (("title", *TEXT), True),
}


class Review(NamedTuple):
    """A query, its judged records, and which were included."""

    name: str
    topic: str
    records: list[Document]
    included: list[bool]


def main() -> None:
    """Rank, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--together", action="store_true")
    given = parser.parse_args()
    sets = [list(read(source)) for source in given.collections]
    if given.together:
        sets = [[review for reviews in sets for review in reviews]]
    for reviews in sets:
        show(reviews)


def read(source: str) -> Iterator[Review]:
    """The reviews of a collection."""
    collection = open_collection(source)
    documents = {document.id: document for document in collection.documents()}
    judgments, queries = collection.judgments(), collection.queries()
    for qid, grades in judgments.items():
        there = [docno for docno in grades if docno in documents]
        included = [grades[docno] > 0 for docno in there]
        yield Review(qid, queries[qid].text(), [documents[docno] for docno in there], included)


def show(reviews: Sequence[Review]) -> None:
    """The table of one set of reviews."""
    records = sum(len(review.records) for review in reviews)
    relevant = sum(sum(review.included) for review in reviews)
    print(
        f"\n{len(reviews)} reviews, {records:,} records, {relevant:,} included; each ranked by a model of the others\n"
    )
    runs = {"BM25": run_of(reviews, [topic_scores([record.text() for record in r.records], r.topic) for r in reviews])}
    for name, (fields, cleaned) in MODELS.items():
        started = time.perf_counter()
        runs[name] = run_of(reviews, left_out(reviews, fields, cleaned=cleaned))
        print(f"   {name}: {time.perf_counter() - started:.0f} s", flush=True)
    judgments = Judgments(
        (review.name, record.id, int(included))
        for review in reviews
        for record, included in zip(review.records, review.included, strict=True)
    )
    table(compare(judgments, runs, MEASURES))


def left_out(reviews: Sequence[Review], fields: tuple[str, ...], *, cleaned: bool) -> list[Sequence[float]]:
    """The scores of each review's records by a model of all other reviews.

    As `fit_linear` of `rankwell.models.linear.training`, but words are counted once, not for every review left out.
    """
    words, settings = Words(cleaned=cleaned), LinearSettings()
    texts = [words.text(review.topic, record.text(*fields)) for review in reviews for record in review.records]
    # What is in too few of all texts is in too few of some of them.
    counter = CountVectorizer(ngram_range=(1, words.longest), min_df=settings.fewest)
    counts = counter.fit_transform(texts).tocsr()
    labels = np.array([label for review in reviews for label in review.included])
    of_review = np.repeat(np.arange(len(reviews)), [len(review.records) for review in reviews])
    found = []
    for place in range(len(reviews)):
        others = of_review != place
        enough = np.flatnonzero(settings.fewest <= (counts[others] > 0).sum(axis=0).A1)
        kept = counts[:, enough]
        weighting = TfidfTransformer().fit(kept[others])
        model = LogisticRegression(C=settings.penalty, solver="liblinear", random_state=0)
        model.fit(weighting.transform(kept[others]), labels[others])
        found.append(model.decision_function(weighting.transform(kept[~others])).tolist())
    return found


def run_of(reviews: Sequence[Review], scores: Sequence[Sequence[float]]) -> Run:
    """Scores as a run."""
    return Run.from_dict(
        {
            review.name: {record.id: float(score) for record, score in zip(review.records, of, strict=True)}
            for review, of in zip(reviews, scores, strict=True)
        }
    )


def table(found: Comparison) -> None:
    """Means with 95 % intervals, and the difference to BM25 with its interval."""
    print("\n| | " + " | ".join(f"{name} (95 % interval) | difference" for name in ("MAP", "AUC")) + " |")
    print("|---" * (1 + 2 * len(MEASURES)) + "|")
    for name, evaluation in found.evaluations.items():
        cells = [name]
        for measure in MEASURES:
            interval, difference = found.interval(name, measure), found.difference(name, measure)
            low, high = interval or (float("nan"), float("nan"))
            cells.append(f"{evaluation.mean(measure):.3f} ({low:.3f} to {high:.3f})")
            cells.append(said(difference.found) if difference else "-")
        print("| " + " | ".join(cells) + " |")


def said(difference: PairedDifference) -> str:
    """The mean difference with its interval."""
    return f"{difference.mean:+.3f} ({difference.interval.low:+.3f} to {difference.interval.high:+.3f})"


if __name__ == "__main__":
    main()
