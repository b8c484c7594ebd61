"""A run beside its judgments: where each judged document stands in the run. Every measure reads from this."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankwell.core.arrays import Floats, Integers
from rankwell.evaluate.pool import Mask, Pool, Values


@dataclass(frozen=True, eq=False)
class Judged:
    """The judged documents that a run returned ("hits"), by query and rank; made once and read by all measures.

    Measures depend on the ranks of judged documents and on how many documents were returned, not on the ids of the
    others; so a run of seven million lines becomes a few thousand hits. Queries are those of the judgments, in their
    order: one that the run lacks is there and has no hits (trec_eval -c), one without judgments is not there.
    """

    qids: tuple[str, ...]
    pool: Pool
    query: Integers  # of each hit: the place of its query in `qids`; rising
    rank: Integers  # of each hit: its rank in the run, from 1; rising within a query
    grade: Integers
    score: Floats
    retrieved: Integers  # of each query: how many documents the run returned
    missing: tuple[str, ...] = ()  # queries with judgments that are not in the run
    unknown: tuple[str, ...] = ()  # queries of the run without judgments

    def relevant(self, rel: int = 1, depth: int | None = None) -> Mask:
        """The hits of at least this grade, down to this rank."""
        return (self.grade >= rel) & self.within(depth)

    def within(self, depth: int | None = None) -> Mask:
        """The hits down to this rank."""
        return np.ones(len(self.rank), dtype=bool) if depth is None else self.rank <= depth

    def count(self, which: Mask) -> Values:
        """How many of the marked hits each query has."""
        return np.bincount(self.query[which], minlength=len(self.qids)).astype(np.float64)

    def total(self, which: Mask, values: Values) -> Values:
        """The sum of each query's values over its marked hits (`values`: one a marked hit)."""
        return self.pool.total(self.query[which], values)

    def highest(self, which: Mask, values: Values) -> Values:
        """The largest of each query's values over its marked hits, 0 without one."""
        best = np.zeros(len(self.qids))
        np.maximum.at(best, self.query[which], values)
        return best

    def running(self, which: Mask) -> Integers:
        """For every hit, how many marked hits of its query stand at its rank or above."""
        seen = np.concatenate(([0], np.cumsum(which)))
        return seen[1:] - seen[self._first[self.query]]

    @cached_property
    def _first(self) -> Integers:
        """For every query, the place of its first hit."""
        return np.searchsorted(self.query, np.arange(len(self.qids)))

    def returned(self, depth: int | None) -> Values:
        """How many documents each query has down to this rank."""
        return (self.retrieved if depth is None else np.minimum(self.retrieved, depth)).astype(np.float64)

    def unjudged(self, depth: int | None = None) -> Values:
        """How many documents without a judgment each query has down to this rank."""
        return self.returned(depth) - self.count(self.within(depth))

    @cached_property
    def condensed(self) -> Judged:
        """The same without the unjudged documents: those below them move up."""
        hits = self.within()
        return replace(self, rank=self.running(hits), retrieved=self.count(hits).astype(np.int64))
