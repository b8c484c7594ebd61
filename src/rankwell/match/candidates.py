"""Which live documents of an index a query looks at, and how large a part of all they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rankwell.index import Index
from rankwell.match.filters import filter_mask, parse_filter
from rankwell.match.functions import Match
from rankwell.match.logic import Mask, Node
from rankwell.match.postings import Asked, Postings
from rankwell.match.specification import parse_match


def matched(match: str | Match, asked: Asked, index: Postings) -> Mask:
    """The live documents that match."""
    return parse_match(match).mask(asked, index) & index.live


def filtered(condition: str | Node, index: Index) -> Mask:
    """The live documents that a filter on metadata lets through; `index.search` takes it as `within`."""
    parsed = parse_filter(condition) if isinstance(condition, str) else condition
    return filter_mask(parsed, index.columns) & index.live


@dataclass(frozen=True)
class MatchRatios:
    """How much of a collection each query looks at: matched / all documents."""

    per_query: Mapping[str, float]
    documents: int

    @property
    def mean(self) -> float:
        """Over all queries (0 without one)."""
        return float(np.mean(list(self.per_query.values()))) if self.per_query else 0.0


def match_ratios(match: str | Match, queries: Mapping[str, Asked], index: Postings) -> MatchRatios:
    """MatchRatio of a match function for every query, by counting alone: nothing is scored."""
    documents = int(index.live.sum())
    counts = {qid: int(matched(match, asked, index).sum()) for qid, asked in queries.items()}
    return MatchRatios({qid: count / max(documents, 1) for qid, count in counts.items()}, documents)
