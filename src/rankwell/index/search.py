"""Run a search: plan its posting lists, choose the scoring, go segment by segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from rankwell.core.run import ranking_order
from rankwell.index.blocks import Array
from rankwell.index.compiled import NOTHING, Compiled, Found, is_loaded, kernels
from rankwell.index.protocol import Hits
from rankwell.index.scoring import Plan, QueryTerms, Scoring, planned, query_terms
from rankwell.index.segment import Segment

if TYPE_CHECKING:
    from rankwell.index.index import Index


def scan(
    segment: Segment,
    place: int,
    plan: Plan,
    scoring: Scoring,
    averages: Mapping[str, float],
    *,
    allowed: Array | None,
    k: int,
) -> Found:
    """The k best documents of a segment (at that position in the index) and their scores, best first."""
    if not plan.lines:
        return NOTHING
    sums = np.zeros(segment.documents)
    reached = np.zeros(segment.documents, dtype=np.int32)  # number of consecutive query terms found
    for line in plan.lines:
        number = line.lists[place]
        if number is None:
            continue
        documents = segment.documents_of(number)
        frequencies = segment.frequencies_of(number).astype(np.float64)
        lengths = segment.lengths[segment.spaces[line.field]][documents].astype(np.float64)
        norm = scoring.k1 * (1 - scoring.b + scoring.b * lengths / averages[line.field])
        sums[documents] += line.weight * frequencies / (frequencies + norm)
        if scoring.match == "and":
            reached[documents] = np.where(reached[documents] == line.group, line.group + 1, reached[documents])
        else:
            reached[documents] = 1
    wanted = plan.groups if scoring.match == "and" else 1
    matching = reached == wanted if allowed is None else (reached == wanted) & allowed
    documents = np.flatnonzero(matching)
    documents, scores = contenders(documents, sums[documents].astype(np.float32), k)
    return documents[:k], scores[:k]


# Loading the compiled kernels takes about a second; numpy processes this many postings in that time, or clears and
# scans the sums of this many times as many documents.
WORTH_LOADING = 20_000_000
PER_POSTING = 8


class IndexSearch:
    """Searches the segments of an index, which it does not refer to: an index without users is freed at once."""

    def __init__(self, segments: Sequence[Segment], bases: Sequence[int]) -> None:
        self._segments, self._bases = segments, bases
        self.compiled = [Compiled(segment, place) for place, segment in enumerate(segments)]

    def __call__(
        self,
        index: Index,
        queries: Sequence[str | QueryTerms],
        k: int,
        scoring: Scoring,
        allowed: Array | None,
        *,
        prune: bool,
        threads: int,
    ) -> Hits:
        """The k best documents of each query."""
        terms = [query_terms(query, index.analyzer, distinct=scoring.distinct) for query in queries]
        plans = [planned(of_query, scoring, len(index), index.statistics) for of_query in terms]
        k = min(k, max(1, len(index)))
        scanned = not is_loaded() and (kernels.reserved or self._work(plans) < WORTH_LOADING)
        averages, by_segment = index.average_lengths, dict[int, list[Found]]()
        thresholds = np.zeros(len(plans), dtype=np.float32)
        # The largest segment comes first: its scores are the thresholds for the others.
        for place, segment in sorted(enumerate(self._segments), key=lambda pair: -pair[1].documents):
            mask = self.allowed(place, allowed)
            if scanned:
                by_segment[place] = [scan(segment, place, plan, scoring, averages, allowed=mask, k=k) for plan in plans]
                continue
            by_segment[place] = self.compiled[place].search(
                plans, k, scoring, averages, mask=mask, thresholds=thresholds, prune=prune, threads=threads
            )
            if len(by_segment) < len(self._segments):
                _raise_thresholds(thresholds, by_segment, k)
        of_segments = [by_segment[place] for place in range(len(self._segments))]
        return gathered(of_segments or [[NOTHING] * len(plans)], self._bases, k, index)

    def allowed(self, place: int, allowed: Array | None) -> Array | None:
        """Mask of the allowed documents of a segment; None: all."""
        segment, base = self._segments[place], self._bases[place]
        chosen = None if allowed is None else allowed[base : base + segment.documents]
        if segment.dead is None:
            return chosen
        return ~segment.dead if chosen is None else chosen & ~segment.dead

    def _work(self, plans: Sequence[Plan]) -> int:
        """The cost of reading every posting of every list, in postings."""
        postings = sum(
            segment.place(number).size
            for plan in plans
            for line in plan.lines
            for segment, number in zip(self._segments, line.lists, strict=True)
            if number is not None
        )
        return postings + len(plans) * sum(segment.documents for segment in self._segments) // PER_POSTING


def _raise_thresholds(thresholds: Array, by_segment: Mapping[int, Sequence[Found]], k: int) -> None:
    """Raise the thresholds to the k-th best score of each query so far, where there are k."""
    for query in range(len(thresholds)):
        scores = np.concatenate([part[query][1] for part in by_segment.values()])
        if len(scores) >= k:
            thresholds[query] = np.partition(scores, len(scores) - k)[len(scores) - k]


WIDE = np.int64(1 << 32)


def holding_phrase(segment: Segment, field: str, occurrences: Sequence[tuple[str, int, int, int]]) -> Array:
    """The documents of a segment with these terms in a field, at the same distances."""
    nothing = np.zeros(0, dtype=np.int64)
    starts: Array | None = None
    for term, position, *_ in occurrences:
        number = segment.list_of(term, field)
        if number is None:
            return nothing
        # Document and start of the phrase in one number, so that sets of them can be intersected.
        begins = _places(segment, number) - position
        starts = begins if starts is None else np.intersect1d(starts, begins, assume_unique=True)
        if not len(starts):
            return nothing
    return nothing if starts is None else np.unique(starts // WIDE)


def _places(segment: Segment, number: int) -> Array:
    """Every occurrence of a list: document * 2^32 + position, plus 2^31 so that a phrase's start stays in its row."""
    start, end = (segment.file["position_starts"].one(at) for at in (number, number + 1))
    positions = segment.file["positions"].part(start, end).astype(np.int64)
    documents = np.repeat(segment.documents_of(number), segment.frequencies_of(number))
    return documents * WIDE + positions + WIDE // 2


def gathered(of_segments: Sequence[Sequence[Found]], bases: Sequence[int], k: int, index: Index) -> Hits:
    """Merge the segments' sorted lists into one list per query."""
    if len(of_segments) == 1:
        return _hits(of_segments[0], index)
    return _hits([joined(parts, bases, k, index) for parts in zip(*of_segments, strict=True)], index)


def joined(parts: Sequence[Found], bases: Sequence[int], k: int, index: Index) -> Found:
    """A query's best documents. Ids are read only where documents of different segments have equal scores."""
    documents = np.concatenate([numbers + base for (numbers, _), base in zip(parts, bases, strict=True)])
    scores = np.concatenate([scores for _, scores in parts])
    documents, scores = contenders(documents, scores, k)
    tied = np.flatnonzero(scores[1:] == scores[:-1])
    if len(tied):
        of = np.searchsorted(bases, documents, side="right")
        if (of[tied] != of[tied + 1]).any():
            settled = ranking_order(np.array([0, len(scores)]), index.docnos(documents), scores)
            documents = documents if settled is None else documents[settled]
    return documents[:k], scores[:k]


def contenders(documents: Array, scores: Array, k: int) -> Found:
    """All documents with at least the k-th best score, sorted by score and then by number."""
    if len(scores) > k:
        kept = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        documents, scores = documents[kept], scores[kept]
    order = np.lexsort((documents, -scores))
    return documents[order], scores[order]


def _hits(rankings: Sequence[Found], index: Index) -> Hits:
    offsets = np.array([0, *accumulate(len(documents) for documents, _ in rankings)], dtype=np.int64)
    if len(rankings) == 1:
        return Hits(offsets, *rankings[0], index)
    documents = np.concatenate([np.zeros(0, dtype=np.int64), *(documents for documents, _ in rankings)])
    scores = np.concatenate([np.zeros(0, dtype=np.float32), *(scores for _, scores in rankings)])
    return Hits(offsets, documents, scores, index)
