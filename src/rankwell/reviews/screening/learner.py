"""The learner scores every record by the decisions so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwell.core.errors import MissingExtraError, ParameterError, Phrase, RankwellError
from rankwell.reviews.screening.reader import Meaning, with_meaning

MOST = 0.95  # share of records; more frequent words are left out


def text_features(records: Sequence[str], topic: str = "") -> tuple[Any, Any]:
    """A sparse row for each record, and one for the topic in the same columns.

    Words and pairs of neighbouring words as they are written, without case; (1 + ln tf) * idf, rows of length 1. Word
    forms are kept: on the development reviews, stemmed words found the last relevant records later.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError("screening", extra="reviews") from error
    most = MOST if len(records) > 1 else 1.0
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_df=most)
    try:
        rows = vectorizer.fit_transform(records)
    except ValueError as error:  # scikit-learn raises it for empty texts
        raise RankwellError(f"records: expected texts with words, found {len(records)} without any") from error
    return rows.tocsr(), vectorizer.transform([topic]).tocsr()


Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Learner:
    """A linear support vector machine on words and pairs of words, trained on all decisions so far.

    min_w  1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i w.x_i)^2

    The included records together weigh `ratio` times as much as the excluded ones, because there are few of them and
    none may be lost. The review's title counts as `title` included records: it is the only thing known before the first
    decision, and alone it ranks by its cosine with each record. (Of 1 to 3, two saved most work on the twelve reviews
    of its development.) `penalty` (C) and `ratio` are those that ASReview's authors found best over the reviews of
    SYNERGY (its model ELAS u4). With `meaning` a model's vectors of the records are added to the features.
    """

    records: Sequence[str] = field(repr=False)
    topic: str = ""
    title: int = 2
    penalty: float = 0.11
    ratio: float = 9.8
    meaning: Meaning | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.title < 0:
            raise ParameterError("title", expected="a number of records from 0", found=self.title)
        for name, value in (("penalty", self.penalty), ("ratio", self.ratio)):
            if not value > 0:
                raise ParameterError(name, expected="a number above 0", found=value)

    @cached_property
    def _words(self) -> tuple[Any, Any]:
        return text_features(self.records, self.topic)

    @cached_property
    def _features(self) -> tuple[Any, Any]:
        return self._words if self.meaning is None else with_meaning(*self._words, self.meaning)

    def knowing(self, meaning: Meaning) -> Learner:
        """The same learner with a model's vectors; the word features are reused."""
        other = replace(self, meaning=meaning)
        other.__dict__.update({name: of for name, of in self.__dict__.items() if name == "_words"})
        return other

    def scores(self, decisions: Mapping[int, bool]) -> Scores:
        """A score for every record, higher for more like the included ones. `decisions`: record -> included."""
        rows, topic = self._features  # first, because it raises if a library is missing
        from scipy.sparse import vstack

        decided = self._places(decisions)
        included = np.array(list(decisions.values()), dtype=bool)
        examples = [rows[decided]]
        if topic.nnz and self.topic.strip() and self.title:
            examples += [topic] * self.title
            included = np.concatenate((included, np.ones(self.title, dtype=bool)))
        if not len(included):
            return np.zeros(len(self.records))
        together = vstack(examples).tocsr()
        if included.all() or not included.any():
            # The mean cosine with the examples: rows have length 1.
            likeness: Scores = np.asarray(rows @ together.mean(axis=0).T).ravel()
            return likeness * (1 if included.any() else -1)
        return self._fitted(together, included).decision_function(rows)  # type: ignore[no-any-return]

    def _places(self, decisions: Mapping[int, bool]) -> npt.NDArray[np.int64]:
        """The decided records, in the order of the decisions."""
        decided = np.array(list(decisions), dtype=np.int64)
        if len(decided) and not 0 <= decided.min() <= decided.max() < len(self.records):
            expected = f"records from 0 to {len(self.records) - 1}"
            found = decided.min() if decided.min() < 0 else decided.max()
            raise ParameterError("decisions", expected=expected, found=Phrase(f"{found}"))
        return decided

    def _fitted(self, rows: Any, included: npt.NDArray[np.bool_]) -> Any:
        from sklearn.svm import LinearSVC

        weights = np.where(included, 1.0, included.sum() / (self.ratio * (~included).sum()))
        machine = LinearSVC(C=self.penalty, random_state=0)
        return machine.fit(rows, included, sample_weight=weights * len(weights) / weights.sum())
