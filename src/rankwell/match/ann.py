"""Matching by embedding: the documents nearest to the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from rankwell.clickhouse import vectors_of
from rankwell.core import ParameterError
from rankwell.index import Index
from rankwell.match.functions import Match
from rankwell.match.logic import Mask
from rankwell.match.postings import Asked, Postings, nothing

EXPECTED = "ann:K or ann:K:WIDTH, as in ann:100 or ann:100:1000"


@dataclass(frozen=True)
class Nearest(Match):
    """ANN: the k documents nearest to the query by embedding; exactly k, where there are as many.

    The graph is searched where there is one, the vectors themselves where there is none. `width` is how many candidates
    the graph is followed to: a wider search misses fewer of the k nearest. `vectors` names them where an index has
    several. A query without text matches nothing.
    """

    k: int
    width: int | None = None
    vectors: str | None = None

    def __post_init__(self) -> None:
        if self.k < 1 or (self.width is not None and self.width < self.k):
            raise ParameterError("match", expected=f"{EXPECTED}, the width not below K", found=self)

    @classmethod
    def parse(cls, argument: str | None) -> Nearest:
        """From what stands behind `ann:`."""
        try:
            numbers = [int(part) for part in (argument or "").split(":")]
            k, width = (*numbers, None)[:2]
        except ValueError:
            numbers = []
        if len(numbers) not in {1, 2} or k is None:
            raise ParameterError("match", expected=EXPECTED, found=f"ann:{argument}" if argument else "ann")
        return cls(k, width)

    def mask(self, asked: Asked, index: Postings) -> Mask:
        """Encode the query, and look around it."""
        if not asked.text.strip():
            return nothing(index)
        whole = cast("Index", index)
        there = vectors_of(whole, self.vectors)
        query = there.encoder().encode_queries([asked.text])
        method = "hnsw" if there.connected else "exact"
        return whole.mask(there.search(query, self.k, method=method, width=self.width).documents)
