"""What the top of a run is made of: how many documents of each grade, and how many that nobody judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rankwell.core import ParameterError
from rankwell.evaluate.judged import Judged


@dataclass(frozen=True)
class TopGrades:
    """Documents in the top k over all queries, by grade."""

    depth: int
    queries: int
    grades: Mapping[int, int]  # every grade of the judgments, the highest first, with how many documents have it
    unjudged: int
    empty: int  # places that lists shorter than k leave

    @property
    def documents(self) -> int:
        """How many documents stand in the top k."""
        return sum(self.grades.values()) + self.unjudged

    def share(self, grade: int | None) -> float:
        """The share of these documents with this grade; None: without a judgment."""
        count = self.unjudged if grade is None else self.grades.get(grade, 0)
        return count / self.documents if self.documents else 0.0


def top_grades(judged: Judged, depth: int = 10) -> TopGrades:
    """Break the top k down by grade."""
    if depth < 1:
        raise ParameterError("depth", expected="a number of documents, at least 1", found=depth)
    on_top = judged.grade[judged.within(depth)]
    known = np.unique(judged.pool.grade)[::-1].tolist()
    return TopGrades(
        depth=depth,
        queries=len(judged.qids),
        grades={grade: int((on_top == grade).sum()) for grade in known},
        unjudged=int(judged.unjudged(depth).sum()),
        empty=int(depth * len(judged.qids) - judged.returned(depth).sum()),
    )
