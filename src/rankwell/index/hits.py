"""The results of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from rankwell.core import Floats, Integers, Ranking, Strings
from rankwell.core.run import ranking_order
from rankwell.index.blocks import Array

if TYPE_CHECKING:
    from rankwell.index.protocol import SearchIndex


@dataclass(frozen=True, eq=False)
class Hits:
    """The documents of each query, best first: those of query i are at `offsets[i]` to `offsets[i + 1]` (exclusive).

    `documents` are the index's own numbers, valid for this commit only; ids are read on demand.
    """

    offsets: Integers
    documents: Integers
    scores: Floats
    index: SearchIndex

    @cached_property
    def docnos(self) -> Strings:
        """The ids of the documents."""
        return self.index.docnos(self.documents)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Ranking]:
        return (self[query] for query in range(len(self)))

    def __getitem__(self, query: int) -> Ranking:
        span = slice(*self.offsets[range(len(self))[query] + np.arange(2)])
        return Ranking(self.docnos[span], self.scores[span])


Found = tuple[Array, Array]  # documents of a query, and their scores


def gathered(of_segments: Sequence[Sequence[Found]], bases: Sequence[int], k: int, index: SearchIndex) -> Hits:
    """Merge the segments' sorted lists into one list per query."""
    if len(of_segments) == 1:
        return _hits(of_segments[0], index)
    return _hits([_joined(parts, bases, k, index) for parts in zip(*of_segments, strict=True)], index)


def _joined(parts: Sequence[Found], bases: Sequence[int], k: int, index: SearchIndex) -> Found:
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


def _hits(found: Sequence[Found], index: SearchIndex) -> Hits:
    offsets = np.array([0, *accumulate(len(documents) for documents, _ in found)], dtype=np.int64)
    if len(found) == 1:
        return Hits(offsets, *found[0], index)
    documents = np.concatenate([np.zeros(0, dtype=np.int64), *(documents for documents, _ in found)])
    scores = np.concatenate([np.zeros(0, dtype=np.float32), *(scores for _, scores in found)])
    return Hits(offsets, documents, scores, index)
