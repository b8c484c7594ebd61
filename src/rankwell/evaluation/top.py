"""The top of a run: documents by grade, and how far documents moved between two runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rankwell.core import RankwellError, Run
from rankwell.evaluation.judged import Judged, check_depth


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
