"""The judged documents of every query, in columns: what a perfect run would have to find."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rankwell.core.arrays import Integers
from rankwell.core.judgments import Judgments

Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pool:
    """One row a judgment: the query's place in the judgments and the grade."""

    queries: int
    query: Integers
    grade: Integers

    @classmethod
    def of(cls, judgments: Judgments) -> Pool:
        """The judgments without their document ids."""
        sizes = [len(of_query) for of_query in judgments.values()]
        grades = (grade for of_query in judgments.values() for grade in of_query.values())
        return cls(
            len(sizes),
            np.repeat(np.arange(len(sizes), dtype=np.int64), sizes),
            np.fromiter(grades, dtype=np.int64, count=sum(sizes)),
        )

    def count(self, which: Mask) -> Values:
        """How many of the marked documents each query has."""
        return np.bincount(self.query[which], minlength=self.queries).astype(np.float64)

    def total(self, query: Integers, values: Values) -> Values:
        """The sum of each query's values."""
        return np.bincount(query, weights=values, minlength=self.queries).astype(np.float64)

    def relevant(self, rel: int = 1) -> Values:
        """How many documents of at least this grade each query has."""
        return self.count(self.grade >= rel)

    @cached_property
    def highest(self) -> Values:
        """The highest grade of each query, at least 1."""
        highest = np.ones(self.queries)
        np.maximum.at(highest, self.query, self.grade)
        return highest

    @property
    def top_grade(self) -> int:
        """The highest grade that anyone gave, at least 1."""
        return max(1, int(self.grade.max(initial=1)))

    @cached_property
    def best_order(self) -> tuple[Integers, Integers, Integers]:
        """Query, rank and grade of the relevant documents in the order of a perfect run, the best grade first."""
        kept = self.grade > 0
        query, grade = self.query[kept], self.grade[kept]
        order = np.lexsort((-grade, query))
        query, grade = query[order], grade[order]
        return query, np.arange(1, len(query) + 1) - np.searchsorted(query, query), grade

    def enlarged(self, query: Integers, grade: Integers) -> Pool:
        """With more documents, as if they had been judged so."""
        return Pool(self.queries, np.concatenate((self.query, query)), np.concatenate((self.grade, grade)))


def share(part: Values, whole: Values) -> Values:
    """Part / whole, and 0 where the whole is 0, as trec_eval has it for a query without relevant documents."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
