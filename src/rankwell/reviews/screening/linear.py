"""TF-IDF and logistic regression over pairs of review and record: S3's baseline, trained on other reviews."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rankwell.core import ParameterError, Run
from rankwell.core.errors import RankwellError
from rankwell.evaluate import evaluate
from rankwell.rerank import LinearModel, Words
from rankwell.reviews.screening.labelled import Labelled, judgments_of_reviews
from rankwell.reviews.screening.learner import Scores
from rankwell.train.linear import PENALTIES, LinearSettings, fit_penalties


@dataclass(frozen=True)
class LinearRanker:
    """The review's title and the record as one text; words, pairs and triples that are in `fewest` texts or more.

    The model is `rankwell.train.linear`'s. Words of the title move all records of a review alike, so what ranks is
    what included records have in common over many reviews.
    """

    penalty: float = 1.0
    fewest: int = 8
    longest: int = 3
    model: LinearModel | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.penalty <= 0:
            raise ParameterError("penalty", expected="a number above 0", found=self.penalty)

    @classmethod
    def chosen(
        cls, training: Sequence[Labelled], validation: Sequence[Labelled], penalties: Sequence[float] = PENALTIES
    ) -> tuple[LinearRanker, list[str]]:
        """The one with the best MAP on the validation reviews, and how it was chosen in words."""
        if not validation:
            return cls().fitted(training), ["linear: there is no validation split, so its settings are the defaults"]
        tried = cls().fitted_all(training, penalties)
        maps = [ranker.mean_average_precision(validation) for ranker in tried]
        best = int(np.argmax(maps))
        all_of_them = ", ".join(f"C={of.penalty:g}: {found:.4f}" for of, found in zip(tried, maps, strict=True))
        note = (
            f"linear: trained on {len(training):,} reviews; C={tried[best].penalty:g} was chosen by MAP on "
            f"{len(validation):,} validation reviews ({all_of_them}); the reviews ranked here are touched once, by it"
        )
        return tried[best], [note]

    def fitted(self, reviews: Sequence[Labelled]) -> LinearRanker:
        """Trained on all records of these reviews."""
        return self.fitted_all(reviews, [self.penalty])[0]

    def fitted_all(self, reviews: Sequence[Labelled], penalties: Sequence[float]) -> list[LinearRanker]:
        """One for each penalty; words are counted once."""
        texts = [text for review in reviews for text in _pairs(review)]
        included = np.concatenate([review.included for review in reviews])
        # Small collections would have no word at all that is in enough texts.
        fewest = min(self.fewest, max(1, len(texts) // 10))
        settings = LinearSettings(Words(self.longest), fewest)
        models = fit_penalties(texts, included, settings, penalties)
        return [replace(self, penalty=one, model=model) for one, model in zip(penalties, models, strict=True)]

    def scores(self, review: Labelled) -> Scores:
        """How likely every record is to be included: the logit."""
        if self.model is None:
            raise RankwellError("linear: expected a trained ranker, found one without a model: call fitted() first")
        return np.array([self.model.logit(text) for text in _pairs(review)], dtype=np.float64)

    def mean_average_precision(self, reviews: Sequence[Labelled]) -> float:
        """MAP over each review's own records."""
        scores = {
            review.name: dict(zip(review.docnos, self.scores(review).tolist(), strict=True)) for review in reviews
        }
        return evaluate(judgments_of_reviews(reviews), Run.from_dict(scores), ["AP"]).mean("AP")


def _pairs(review: Labelled) -> Iterable[str]:
    return (f"{review.topic} {record}" for record in review.records)
