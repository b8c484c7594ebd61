"""Ranking as classification: everything above a threshold is taken to be relevant."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.evaluate.judged import Judged


@dataclass(frozen=True)
class Confusion:
    """How often the prediction was right, and how it was wrong. A share of nothing is 0, as in scikit-learn."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def accuracy(self) -> float:
        """(TP + TN) / all: the share of documents that were classified rightly."""
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
