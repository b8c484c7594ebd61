"""Grades counted for measures of agreement: how many people gave each value to each passage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwell.assess.grades import Grades

Counts = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ratings:
    """One row for each passage of a query that somebody graded, one column for each value that was given.

    Which assessor gave which grade does not matter to the measures that are made of this. `query` is the number of
    the row's query; rows of a query stand together.
    """

    values: tuple[int, ...]
    counts: Counts
    query: npt.NDArray[np.int64]

    @property
    def pairable(self) -> npt.NDArray[np.bool_]:
        """Which passages have at least two grades: of the others nobody can say whether people agree on them."""
        found: npt.NDArray[np.bool_] = self.counts.sum(axis=1) > 1
        return found


def count_ratings(grades: Grades, threshold: int | None = None) -> Ratings:
    """Count the grades; with a threshold, the votes "relevant" (1) and "not" (0). Missing answers are left out."""
    given = [
        (row.qid, row.docno, row.grade if threshold is None else int(row.grade >= threshold))
        for row in grades.rows()
        if row.grade is not None
    ]
    values = sorted({value for _, _, value in given})
    places = {value: place for place, value in enumerate(values)}
    passages = dict.fromkeys((qid, docno) for qid, docno, _ in given)
    queries = {qid: number for number, qid in enumerate(dict.fromkeys(qid for qid, _ in passages))}
    ordered = sorted(passages, key=lambda passage: queries[passage[0]])
    rows = {passage: number for number, passage in enumerate(ordered)}
    counts = np.zeros((len(rows), len(values)))
    if given:
        np.add.at(counts, tuple(np.array([(rows[q, d], places[value]) for q, d, value in given]).T), 1)
    return Ratings(tuple(values), counts, np.array([queries[qid] for qid, _ in ordered], dtype=np.int64))
