"""A search that is prepared once, for loops of many single queries: little Python stands around the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankwell.index.blocks import MOST_REMEMBERED, Array
from rankwell.index.compiled import LARGE_K, MOST_LINES, NOTHING, Found, Head, PreparedSegment, is_prunable
from rankwell.index.protocol import Hits
from rankwell.index.scoring import QueryTerms, Scoring, planned, query_terms
from rankwell.index.search import IndexSearch, joined

if TYPE_CHECKING:
    from rankwell.index.index import Index

Part = tuple[Head, float, float]  # a posting list, its weight and its seed (see `rankwell.index.kernels.LIST`)
SINGLE = np.zeros(1, dtype=np.float32)


class Searcher:
    """The k best documents of one query a call, exactly as `Index.search` finds them.

    It belongs to one commit. What a term needs is looked up once and kept. Several threads may use one searcher.

    >>> search = index.searcher(k=10)
    >>> hits = search("masks and droplets")
    """

    def __init__(self, index: Index, k: int, scoring: Scoring, within: Array | None, engine: IndexSearch) -> None:
        self._index, self._k, self._scoring, self._within = index, k, scoring, within
        self._most = min(k, max(1, len(index)))
        prepared = [
            one.prepared(self._most, scoring, index.average_lengths, engine.allowed(one.place, within))
            for one in engine.compiled
        ]
        # The largest segment comes first: its scores are the threshold for the others.
        self._segments: list[tuple[int, PreparedSegment]] = sorted(
            enumerate(prepared), key=lambda pair: -pair[1].documents
        )
        self._plain = all(self._most < LARGE_K * segment.documents for segment in prepared) and bool(prepared)
        self._bases = [base for _, base in index.segments]
        self._terms: dict[tuple[str, float], list[list[Part]] | None] = {}

    def __call__(self, query: str | QueryTerms) -> Hits:
        """The k best documents of a query."""
        terms = query_terms(query, self._index.analyzer, distinct=self._scoring.distinct)
        known, every = self._terms, self._scoring.match == "and"
        parts = [known[term] if term in known else self._learn(*term) for term in terms.items()]
        if not self._plain or None in parts:
            return self._slowly(query)
        found: dict[int, Found] = {}
        for place, segment in self._segments:
            rows = [
                (*head, group, weight, seed)
                for group, of_segment in enumerate(parts)
                for head, weight, seed in of_segment[place]  # type: ignore[index]  # None is not among them
            ]
            if len(rows) > MOST_LINES:
                return self._slowly(query)
            if not rows or (every and not all(of_segment[place] for of_segment in parts)):  # type: ignore[index]
                found[place] = NOTHING
                continue
            found[place] = segment.search(rows, self._threshold(found) if found else SINGLE)
        if len(found) == 1:
            documents, scores = found[0]
        else:
            documents, scores = joined([found[place] for place in range(len(found))], self._bases, self._k, self._index)
        return Hits(np.array([0, len(documents)]), documents, scores, self._index)

    def _slowly(self, query: str | QueryTerms) -> Hits:
        """Where lists cannot be pruned: negative weights, many terms, a large k."""
        return self._index.search(query, self._k, self._scoring, within=self._within)

    def _learn(self, term: str, boost: float) -> list[list[Part]] | None:
        """The lists of a term in each segment; None where they cannot be pruned."""
        index, lists = self._index, None
        lines = planned({term: boost}, self._scoring, len(index), index.statistics).lines
        if is_prunable([(line, 0) for line in lines]):
            lists = [list[Part]() for _ in self._segments]
            for place, segment in self._segments:
                lists[place] = segment.parts(lines)
        if len(self._terms) >= MOST_REMEMBERED:
            self._terms.clear()
        self._terms[term, boost] = lists
        return lists

    def _threshold(self, found: dict[int, Found]) -> Array:
        """The k-th best score so far, where there are k."""
        scores = np.concatenate([part[1] for part in found.values()])
        if len(scores) < self._most:
            return SINGLE
        place = len(scores) - self._most
        return np.partition(scores, place)[place : place + 1].copy()
