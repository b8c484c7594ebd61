"""What a search answers: results with their texts, and how they came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rankwell.index import RangeFacet, ValueFacet
from rankwell.pipelines import Explanation

if TYPE_CHECKING:
    from rankwell.serve.searching import Found

FIRST, RERANKED = "first", "reranked"


class Piece(NamedTuple):
    """A stretch of a snippet, and whether it is a word that was found. It is text: whoever shows it, escapes it."""

    text: str
    marked: bool


@dataclass(frozen=True)
class Result:
    """One document. `first_rank` is its rank after the first stage, `moved` how many places a model moved it up.

    Both are None where they are not known: before a model has read it, `moved` is. `snippet` has the pieces of a
    passage by field.
    """

    id: str
    rank: int
    score: float
    first_rank: int | None = None
    moved: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    snippet: Mapping[str, Sequence[Piece]] = field(default_factory=dict)
    explain: Explanation | None = None

    def for_json(self) -> dict[str, Any]:
        """As the API gives it."""
        shown: dict[str, Any] = {"id": self.id, "rank": self.rank, "score": self.score, "first_rank": self.first_rank}
        shown |= {"moved": self.moved, "fields": self.fields, "metadata": self.metadata}
        shown["snippet"] = {
            name: [{"text": piece.text, "marked": piece.marked} for piece in pieces]
            for name, pieces in self.snippet.items()
        }
        shown["explain"] = None if self.explain is None else self.explain.for_json()
        return shown


@dataclass(frozen=True)
class SearchResponse:
    """The results of a search after its first stage, or after a model has re-ranked them.

    `partial`: a model was asked for and was not done in time, so these are the first stage's results. `total` is how
    many documents matched (None: nobody counted). `found` is what the next stage goes on with; it is not sent.
    """

    query: str
    took_ms: float
    stage: str
    results: Sequence[Result]
    partial: bool = False
    total: int | None = None
    warnings: Sequence[str] = ()
    facets: Mapping[str, ValueFacet | RangeFacet] = field(default_factory=dict)
    commit: int = 0
    found: Found | None = field(default=None, repr=False, compare=False)

    def for_json(self) -> dict[str, Any]:
        """As the API gives it."""
        return {
            "query": self.query,
            "took_ms": round(self.took_ms, 3),
            "stage": self.stage,
            "partial": self.partial,
            "total": self.total,
            "commit": self.commit,
            "warnings": list(self.warnings),
            "results": [result.for_json() for result in self.results],
            "facets": {name: _facet(facet) for name, facet in self.facets.items()},
        }


def _facet(facet: ValueFacet | RangeFacet) -> dict[str, Any]:
    if isinstance(facet, ValueFacet):
        values = [{"value": value, "count": count} for value, count in facet.counts]
        return {"kind": "values", "values": values, "others": facet.others, "missing": facet.missing}
    return {
        "kind": "range",
        "lowest": facet.lowest,
        "highest": facet.highest,
        "width": facet.width,
        "counts": list(facet.bars),
        "missing": facet.missing,
    }
