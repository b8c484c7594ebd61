"""Look into a run: scores as a classifier, documents by grade in its top, and documents that moved between two runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwell.core import Floats, RankwellError, Run
from rankwell.evaluation.judged import Judged, Mask, Values, check_depth


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


@dataclass(frozen=True)
class TopGrades:
    """Documents in the top k over all queries, by grade."""

    depth: int
    queries: int
    grades: Mapping[int, int]  # grade -> number of documents, for every grade of the judgments, the highest first
    unjudged: int
    empty: int  # ranks that lists shorter than k leave empty

    @property
    def documents(self) -> int:
        """Number of documents in the top k."""
        return sum(self.grades.values()) + self.unjudged

    def share(self, grade: int | None) -> float:
        """The share of these documents with this grade; None: without a judgment."""
        count = self.unjudged if grade is None else self.grades.get(grade, 0)
        return count / self.documents if self.documents else 0.0


def top_grades(judged: Judged, depth: int = 10) -> TopGrades:
    """Count the documents in the top k by grade."""
    check_depth(depth)
    on_top = judged.grade[judged.within(depth)]
    known = np.unique(judged.pool.grade)[::-1].tolist()
    return TopGrades(
        depth=depth,
        queries=len(judged.qids),
        grades={grade: int((on_top == grade).sum()) for grade in known},
        unjudged=int(judged.unjudged(depth).sum()),
        empty=int(depth * len(judged.qids) - judged.returned(depth).sum()),
    )


@dataclass(frozen=True)
class RankMovement:
    """Mean number of places, up or down, that the top documents of one run moved in another."""

    depth: int
    places: Mapping[str, float]  # by query id; queries of which no document is in both runs are not there
    moved: int  # documents that were compared
    lost: int  # documents of the first run's top that the second run does not have

    @property
    def mean(self) -> float:
        """The mean number of places over queries."""
        return sum(self.places.values()) / len(self.places)


def rank_movement(before: Run, after: Run, depth: int = 10) -> RankMovement:
    """Follow the top documents of `before` to their ranks in `after`.

    places(q) = mean over documents d in both of |rank_after(d) - rank_before(d)|
    """
    check_depth(depth)
    places: dict[str, float] = {}
    moved = lost = 0
    for qid, ranking in before.rankings():
        if qid not in after:
            continue
        now = {docno: rank for rank, docno in enumerate(after[qid].docnos.tolist(), 1)}
        top = ranking.docnos[:depth].tolist()
        steps = [abs(now[docno] - rank) for rank, docno in enumerate(top, 1) if docno in now]
        moved, lost = moved + len(steps), lost + len(top) - len(steps)
        if steps:
            places[qid] = sum(steps) / len(steps)
    if not places:
        raise RankwellError(f"runs {before.tag!r} and {after.tag!r}: expected a document in both, found none")
    return RankMovement(depth, places, moved, lost)
