"""ROC: how well scores tell relevant documents from others, whatever the threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwell.evaluate.judged import Judged
from rankwell.evaluate.pool import Mask, Values


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
