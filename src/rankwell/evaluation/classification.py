"""Ranking as classification: a threshold on the scores, ROC curves, and score distributions of both classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwell.core.arrays import Floats
from rankwell.evaluation.judged import Judged, Mask, Values


@dataclass(frozen=True)
class Confusion:
    """A confusion matrix. A fraction with denominator 0 is 0, as in scikit-learn."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def accuracy(self) -> float:
        """(TP + TN) / all: the share of documents that were classified correctly."""
        right = self.true_positive + self.true_negative
        return _share(right, right + self.false_positive + self.false_negative)

    @property
    def precision(self) -> float:
        """TP / (TP + FP): how many of the accepted documents are relevant."""
        return _share(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> float:
        """TP / (TP + FN): how many of the relevant documents were accepted."""
        return _share(self.true_positive, self.true_positive + self.false_negative)

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN): the harmonic mean of precision and recall."""
        return _share(2 * self.true_positive, 2 * self.true_positive + self.false_positive + self.false_negative)


def classify(judged: Judged, threshold: float, rel: int = 1) -> Confusion:
    """Accept judged documents whose score is at least the threshold, queries pooled.

    Only documents that the run returned have a score and are counted; unjudged ones are not.
    """
    relevant = judged.relevant(rel)
    accepted = judged.score >= threshold
    return Confusion(
        true_positive=int((relevant & accepted).sum()),
        false_positive=int((~relevant & accepted).sum()),
        false_negative=int((relevant & ~accepted).sum()),
        true_negative=int((~relevant & ~accepted).sum()),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


@dataclass(frozen=True, eq=False)
class RocCurve:
    """A point for every distinct score as threshold, from (0, 0) with nothing accepted to (1, 1) with everything."""

    false_positives: Values  # rates, from 0 to 1
    true_positives: Values
    thresholds: Values


def auc(relevant: Mask, scores: npt.ArrayLike) -> float:
    """The probability that a relevant document has a higher score than another one; a tie counts half.

    AUC = (sum of the relevant documents' ranks by rising score - n(n+1)/2) / (n * m)

    with n relevant and m other documents and tied documents sharing their mean rank (Mann and Whitney, 1947). NaN where
    one of the two kinds is missing.
    """
    _, group, sizes = np.unique(np.asarray(scores), return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(sizes) - (sizes - 1) / 2
    ours = int(relevant.sum())
    pairs = ours * (len(relevant) - ours)
    if pairs == 0:
        return float("nan")
    return float((mean_rank[group[relevant]].sum() - ours * (ours + 1) / 2) / pairs)


def roc_curve(judged: Judged, rel: int = 1) -> RocCurve:
    """The curve over all judged documents that the run returned, queries pooled."""
    relevant = judged.relevant(rel)
    order = np.argsort(-judged.score, kind="stable")
    scores, hits = judged.score[order], relevant[order]
    last = np.flatnonzero(np.diff(scores, append=np.nan) != 0)  # tied documents are accepted together
    true, false = np.cumsum(hits)[last], np.cumsum(~hits)[last]
    return RocCurve(
        np.concatenate(([0.0], false / max(1, int((~hits).sum())))),
        np.concatenate(([0.0], true / max(1, int(hits.sum())))),
        np.concatenate(([np.inf], scores[last].astype(np.float64))),
    )


@dataclass(frozen=True, eq=False)
class ScoreDistribution:
    """The scores of a run's judged documents, by relevance."""

    relevant: Floats
    not_relevant: Floats


def score_distribution(judged: Judged, rel: int = 1) -> ScoreDistribution:
    """The scores of documents with at least this grade, and of those with a lower one; unjudged ones are in neither."""
    relevant = judged.relevant(rel)
    return ScoreDistribution(judged.score[relevant], judged.score[~relevant])
