"""The rankers that a review can be replayed with, or ranked by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from rankwell.core import ParameterError, Run
from rankwell.reviews.screening.labelled import Labelled
from rankwell.reviews.screening.learner import Learner, Scores
from rankwell.reviews.screening.linear import LinearRanker
from rankwell.reviews.screening.meaning import Meaning
from rankwell.reviews.screening.reader import Reader
from rankwell.reviews.screening.setting import Setting
from rankwell.reviews.screening.topic import topic_scores

Scorer: TypeAlias = Callable[[Mapping[int, bool]], Scores]
"""Decisions so far (record -> included) in, a score for every record out; higher is sooner."""

Ranker: TypeAlias = Callable[[Labelled], Scorer]


def learning(setting: Setting) -> Ranker:  # noqa: ARG001 -- it learns from the review's own decisions only
    """Learns from every decision; before the first it ranks by the likeness to the review's title."""
    return lambda review: Learner(review.records, review.topic).scores


def learning_and_reading(setting: Setting) -> Ranker:
    """The learner, with vectors of the records by the setting's model beside their words.

    Read them before with `Reader.read` where that takes long and somebody waits: they are kept.
    """
    reader = Reader.open(setting.model)
    setting.notes.append(f"learner+bert: the records were read by {setting.model}")

    def of_review(review: Labelled) -> Scorer:
        vectors = reader.read(review.records)
        meaning = Meaning(vectors, reader.encoder.encode_queries([review.topic])[0], setting.model)
        return Learner(review.records, review.topic, meaning=meaning).scores

    return of_review


def by_topic(setting: Setting) -> Ranker:  # noqa: ARG001 -- there is nothing to learn
    """BM25 of the review's title over its records; decisions change nothing."""
    return lambda review: _fixed(topic_scores(review.records, review.topic))


def linear(setting: Setting) -> Ranker:
    """TF-IDF and logistic regression, trained on other reviews; decisions change nothing."""
    if setting.training:
        ranker, notes = LinearRanker.chosen(setting.training, setting.validation)
        setting.notes.extend(notes)
        return lambda review: _fixed(ranker.scores(review))
    setting.notes.append("linear: there is no training split, so each review is ranked by a model of the other reviews")
    return lambda review: _fixed(_left_out(review, setting.reviews).scores(review))


def by_chance(setting: Setting) -> Ranker:
    """A shuffle, anew for other decisions: what screening without help costs."""

    def of_review(review: Labelled) -> Scorer:
        return lambda decisions: np.random.default_rng([setting.seed, *decisions]).random(len(review.records))

    return of_review


RANKERS: Mapping[str, Callable[[Setting], Ranker]] = MappingProxyType(
    {
        "learner": learning,
        "learner+bert": learning_and_reading,
        "bm25": by_topic,
        "linear": linear,
        "random": by_chance,
    }
)


def ranker_named(name: str) -> Callable[[Setting], Ranker]:
    """One of `RANKERS`."""
    if name not in RANKERS:
        raise ParameterError("ranker", expected=f"one of {', '.join(RANKERS)}", found=name)
    return RANKERS[name]


def by_run(run: Run) -> Ranker:
    """The order that any other tool gave, as a run; what it does not have comes last."""

    def of_review(review: Labelled) -> Scorer:
        ranking = run[review.name].docnos.tolist() if review.name in run else []
        places = {docno: place for place, docno in enumerate(ranking)}
        return _fixed(-np.array([places.get(docno, len(places)) for docno in review.docnos], dtype=np.float64))

    return of_review


def ranked(reviews: Sequence[Labelled], ranker: Ranker, tag: str) -> Run:
    """Every review's own records in the order of the ranker, before anything was decided."""
    rows = ((review, ranker(review)({}).tolist()) for review in reviews)
    return Run.from_dict({review.name: dict(zip(review.docnos, of, strict=True)) for review, of in rows}, tag=tag)


def _left_out(review: Labelled, reviews: Sequence[Labelled]) -> LinearRanker:
    others = [other for other in reviews if other.name != review.name]
    if not others:
        raise ParameterError("linear", expected="another review to train on", found=[review.name])
    return LinearRanker().fitted(others)


def _fixed(scores: Scores) -> Scorer:
    return lambda _: scores
