"""The rankers for simulations of finished reviews."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from rankwell.core import Document, ParameterError, Queries, RankwellError, Run
from rankwell.evaluation import evaluate
from rankwell.index import Index, IndexWriter
from rankwell.models.linear.ranking import LinearModel
from rankwell.models.linear.training import PENALTIES, LinearSettings, fit_penalties
from rankwell.retrieve import BM25
from rankwell.reviews.screening.labelled import LabelledReview, Setting, judgments_of_reviews
from rankwell.reviews.screening.learner import Learner, Scores
from rankwell.reviews.screening.reader import Meaning, Reader


@dataclass(frozen=True)
class LinearRanker:
    """A linear model of title and record as one text; features are words, pairs and triples in at least `fewest` texts.

    The model is `rankwell.models.linear.training`'s. Words of the title shift all records of a review alike, so it
    ranks by what included records of many reviews have in common.
    """

    penalty: float = LinearSettings.penalty
    fewest: int = LinearSettings.fewest
    longest: int = LinearSettings.longest
    model: LinearModel | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.penalty <= 0:
            raise ParameterError("penalty", expected="a number above 0", found=self.penalty)

    @classmethod
    def chosen(
        cls,
        training: Sequence[LabelledReview],
        validation: Sequence[LabelledReview],
        penalties: Sequence[float] = PENALTIES,
    ) -> tuple[LinearRanker, list[str]]:
        """The ranker with the best MAP on the validation reviews, and a note on its selection."""
        if not validation:
            return cls().fitted(training), ["linear: there is no validation split, so its settings are the defaults"]
        tried = cls().fitted_all(training, penalties)
        maps = [ranker.mean_average_precision(validation) for ranker in tried]
        best = int(np.argmax(maps))
        all_of_them = ", ".join(f"C={of.penalty:g}: {value:.4f}" for of, value in zip(tried, maps, strict=True))
        note = (
            f"linear: trained on {len(training):,} reviews; C={tried[best].penalty:g} was chosen by MAP on "
            f"{len(validation):,} validation reviews ({all_of_them}); the reviews ranked here are touched once, by it"
        )
        return tried[best], [note]

    def fitted(self, reviews: Sequence[LabelledReview]) -> LinearRanker:
        """A ranker trained on all records of these reviews."""
        return self.fitted_all(reviews, [self.penalty])[0]

    def fitted_all(self, reviews: Sequence[LabelledReview], penalties: Sequence[float]) -> list[LinearRanker]:
        """One ranker for each penalty; words are counted once."""
        texts = [text for review in reviews for text in _pairs(review)]
        included = np.concatenate([review.included for review in reviews])
        # In small collections no word would be in enough texts.
        fewest = min(self.fewest, max(1, len(texts) // 10))
        settings = LinearSettings(longest=self.longest, fewest=fewest)
        models = fit_penalties(texts, included, settings, penalties)
        return [replace(self, penalty=one, model=model) for one, model in zip(penalties, models, strict=True)]

    def scores(self, review: LabelledReview) -> Scores:
        """The logit of every record to be included."""
        if self.model is None:
            raise RankwellError("linear: expected a trained ranker, found one without a model: call fitted() first")
        return np.array([self.model.logit(text) for text in _pairs(review)], dtype=np.float64)

    def mean_average_precision(self, reviews: Sequence[LabelledReview]) -> float:
        """MAP over each review's own records."""
        run = ranked(reviews, lambda review: _fixed(self.scores(review)), "linear")
        return evaluate(judgments_of_reviews(reviews), run, ["AP"]).mean("AP")


def _pairs(review: LabelledReview) -> Iterable[str]:
    return (f"{review.topic} {record}" for record in review.records)


def topic_scores(records: Sequence[str], topic: str) -> Scores:
    """BM25 score of every record from a temporary index; 0 without a word of the topic."""
    scores = np.zeros(len(records))
    with tempfile.TemporaryDirectory(prefix="rankwell-", ignore_cleanup_errors=True) as folder:
        with IndexWriter(folder) as writer:
            for place, record in enumerate(records):
                writer.add(Document(str(place), {"text": record}))
        first = BM25(Index.open(folder), k=max(1, len(records)))
        ranking = first(Queries.of({"topic": topic}))["topic"]
    scores[[int(docno) for docno in ranking.docnos.tolist()]] = ranking.scores
    return scores


Scorer: TypeAlias = Callable[[Mapping[int, bool]], Scores]
"""Decisions so far (record -> included) in, a score for every record out; higher is sooner."""

Ranker: TypeAlias = Callable[[LabelledReview], Scorer]


def learning(_: Setting) -> Ranker:
    """Learns from every decision; before the first it ranks by similarity to the review's title."""
    return lambda review: Learner(review.records, review.topic).scores


def learning_and_reading(setting: Setting) -> Ranker:
    """The learner with the setting's model's vectors added to the words.

    Compute them before with `Reader.read` where that takes long: they are cached.
    """
    reader = Reader.open(setting.model)
    setting.notes.append(f"learner+bert: the records were read by {setting.model}")

    def of_review(review: LabelledReview) -> Scorer:
        vectors = reader.read(review.records)
        meaning = Meaning(vectors, reader.encoder.encode_queries([review.topic])[0], setting.model)
        return Learner(review.records, review.topic, meaning=meaning).scores

    return of_review


def by_topic(_: Setting) -> Ranker:
    """BM25 of the review's title over its records; decisions change nothing."""
    return lambda review: _fixed(topic_scores(review.records, review.topic))


def linear(setting: Setting) -> Ranker:
    """TF-IDF and logistic regression, trained on other reviews; decisions change nothing."""
    if setting.training:
        ranker, notes = LinearRanker.chosen(setting.training, setting.validation)
        setting.notes.extend(notes)
        return lambda review: _fixed(ranker.scores(review))
    setting.notes.append("linear: there is no training split, so each review is ranked by a model of the other reviews")

    def without_it(review: LabelledReview) -> Scorer:
        others = [other for other in setting.reviews if other.name != review.name]
        if not others:
            raise ParameterError("linear", expected="another review to train on", found=[review.name])
        return _fixed(LinearRanker().fitted(others).scores(review))

    return without_it


def by_chance(setting: Setting) -> Ranker:
    """A random order, new for other decisions: the cost of screening without a ranking."""
    generator = np.random.default_rng
    return lambda review: lambda decisions: generator([setting.seed, *decisions]).random(len(review.records))


RANKERS: Mapping[str, Callable[[Setting], Ranker]] = MappingProxyType(
    {"learner": learning, "learner+bert": learning_and_reading, "bm25": by_topic, "linear": linear, "random": by_chance}
)


def ranker_named(name: str) -> Callable[[Setting], Ranker]:
    """The ranker of that name in `RANKERS`; an error for another name."""
    if name not in RANKERS:
        raise ParameterError("ranker", expected=f"one of {', '.join(RANKERS)}", found=name)
    return RANKERS[name]


def by_run(run: Run) -> Ranker:
    """The order of a run by any other tool; records that the run lacks come last."""

    def of_review(review: LabelledReview) -> Scorer:
        ranking = run[review.name].docnos.tolist() if review.name in run else []
        places = {docno: place for place, docno in enumerate(ranking)}
        return _fixed(-np.array([places.get(docno, len(places)) for docno in review.docnos], dtype=np.float64))

    return of_review


def ranked(reviews: Sequence[LabelledReview], ranker: Ranker, tag: str) -> Run:
    """A run of every review's own records in the ranker's order, before any decision."""
    rows = ((review, ranker(review)({}).tolist()) for review in reviews)
    return Run.from_dict({review.name: dict(zip(review.docnos, of, strict=True)) for review, of in rows}, tag=tag)


def _fixed(scores: Scores) -> Scorer:
    return lambda _: scores
