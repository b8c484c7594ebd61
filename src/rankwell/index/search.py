"""Running a search: which way of scoring is taken, segment by segment, query by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from rankwell.analysis import Analyzer
from rankwell.core.arrays import Strings
from rankwell.index.compiled import NOTHING, Compiled
from rankwell.index.hits import Found, Hits, gathered
from rankwell.index.layout import Array
from rankwell.index.loading import is_loaded, kernels
from rankwell.index.plan import Plan, QueryTerms, TermStatistics, planned, query_terms
from rankwell.index.scan import scan
from rankwell.index.scoring import Scoring
from rankwell.index.segment import Segment

# Loading the compiled kernels takes about a second; numpy gets through so many postings in that time, or clears and
# looks through the sums of so many times as many documents.
WORTH_LOADING = 20_000_000
PER_POSTING = 8


class Searched(Protocol):
    """What a search asks of its index."""

    analyzer: Analyzer

    @property
    def average_lengths(self) -> Mapping[str, float]:
        """For each field its average length."""

    def __len__(self) -> int: ...

    def statistics(self, term: str, field: str) -> TermStatistics:
        """The statistics of a term."""

    def docnos(self, documents: Array) -> Strings:
        """The ids of documents."""


class Search:
    """Searches the segments of an index."""

    def __init__(self, segments: Sequence[Segment], bases: Sequence[int], index: Searched) -> None:
        self._segments, self._bases, self._index = segments, bases, index
        self._compiled = [Compiled(segment, place) for place, segment in enumerate(segments)]

    def __call__(
        self,
        queries: Sequence[str | QueryTerms],
        k: int,
        scoring: Scoring,
        allowed: Array | None,
        *,
        prune: bool,
        threads: int,
    ) -> Hits:
        """The k best documents of each query."""
        index = self._index
        terms = [query_terms(query, index.analyzer, distinct=scoring.distinct) for query in queries]
        plans = [planned(of_query, scoring, len(index), index.statistics) for of_query in terms]
        k = min(k, max(1, len(index)))
        if not is_loaded() and (kernels.reserved or self._work(plans) < WORTH_LOADING):
            of_segments = [self._scanned(place, plans, k, scoring, allowed) for place in range(len(self._segments))]
        else:
            of_segments = self._run_compiled(plans, k, scoring, allowed, prune=prune, threads=threads)
        return gathered(of_segments or [[NOTHING] * len(plans)], self._bases, k, index)

    def _scanned(
        self, place: int, plans: Sequence[Plan], k: int, scoring: Scoring, allowed: Array | None
    ) -> list[Found]:
        segment, averages = self._segments[place], self._index.average_lengths
        mask = self._allowed(place, allowed)
        return [
            scan(segment, place, plan, scoring, averages, allowed=mask, k=k) if plan.lines else NOTHING
            for plan in plans
        ]

    def _run_compiled(
        self, plans: Sequence[Plan], k: int, scoring: Scoring, allowed: Array | None, *, prune: bool, threads: int
    ) -> list[list[Found]]:
        """The largest segment first: its scores are the thresholds that the others must reach."""
        found: dict[int, list[Found]] = {}
        thresholds = np.zeros(len(plans), dtype=np.float32)
        for place in sorted(range(len(self._segments)), key=lambda place: -self._segments[place].documents):
            compiled, mask = self._compiled[place], self._allowed(place, allowed)
            averages = self._index.average_lengths
            found[place] = compiled.search(
                plans, k, scoring, averages, mask=mask, thresholds=thresholds, prune=prune, threads=threads
            )
            if len(found) < len(self._segments):
                _raise_thresholds(thresholds, found, k)
        return [found[place] for place in range(len(self._segments))]

    def _allowed(self, place: int, allowed: Array | None) -> Array | None:
        """Which documents of a segment may be found; None: all."""
        segment, base = self._segments[place], self._bases[place]
        chosen = None if allowed is None else allowed[base : base + segment.documents]
        if segment.dead is None:
            return chosen
        return ~segment.dead if chosen is None else chosen & ~segment.dead

    def _work(self, plans: Sequence[Plan]) -> int:
        """What it takes to look at every posting of every list, in postings."""
        postings = sum(
            segment.place(number).size
            for plan in plans
            for line in plan.lines
            for segment, number in zip(self._segments, line.lists, strict=True)
            if number is not None
        )
        return postings + len(plans) * sum(segment.documents for segment in self._segments) // PER_POSTING


def _raise_thresholds(thresholds: Array, found: Mapping[int, Sequence[Found]], k: int) -> None:
    """The k-th best score of each query so far, where there are k."""
    for query in range(len(thresholds)):
        scores = np.concatenate([part[query][1] for part in found.values()])
        if len(scores) >= k:
            thresholds[query] = np.partition(scores, len(scores) - k)[len(scores) - k]
