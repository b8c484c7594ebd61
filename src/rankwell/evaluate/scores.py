"""How the scores of relevant documents and of others are spread."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.core.arrays import Floats
from rankwell.evaluate.judged import Judged


@dataclass(frozen=True, eq=False)
class ScoreDistribution:
    """The scores of judged documents that a run returned, apart by relevance."""

    relevant: Floats
    not_relevant: Floats


def score_distribution(judged: Judged, rel: int = 1) -> ScoreDistribution:
    """The scores of documents with at least this grade, and of those with a lower one; unjudged ones are in neither."""
    relevant = judged.relevant(rel)
    return ScoreDistribution(judged.score[relevant], judged.score[~relevant])
