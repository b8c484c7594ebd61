"""What a search is to do: for each query its posting lists with their weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rankwell.analysis import Analyzer
from rankwell.index.layout import COMBINED
from rankwell.index.scoring import IDFS, Scoring

QueryTerms = Mapping[str, float]


class TermStatistics(NamedTuple):
    """A term in a field: its list in every segment (None: it is not there), and the live documents that hold it."""

    lists: tuple[int | None, ...]
    documents: int


class Line(NamedTuple):
    """A posting list's part in a query: which term of the query it belongs to, its field, its weight, its lists."""

    group: int
    field: str
    weight: float
    lists: tuple[int | None, ...]


@dataclass(frozen=True)
class Plan:
    """The lines of one query in the order of their summation; `groups` terms are asked for."""

    lines: Sequence[Line]
    groups: int


def query_terms(query: str | QueryTerms, analyzer: Analyzer, *, distinct: bool) -> QueryTerms:
    """The terms of a query in the order in which they come first, each with how often it comes."""
    if isinstance(query, Mapping):
        return query
    counts: dict[str, float] = {}
    for term in analyzer(query):
        counts[term] = 1.0 if distinct else counts.get(term, 0.0) + 1.0
    return counts


def planned(
    terms: QueryTerms, scoring: Scoring, documents: int, statistics: Callable[[str, str], TermStatistics]
) -> Plan:
    """The plan of one query. A term that no document holds is counted among the groups but has no line."""
    idf, fields = IDFS[scoring.idf], scoring.weights or {COMBINED: 1.0}
    lines = []
    for group, (term, boost) in enumerate(terms.items()):
        for field, field_weight in fields.items():
            found = statistics(term, field)
            if found.documents:
                weight = boost * field_weight * idf(documents, found.documents) * (scoring.k1 + 1)
                lines.append(Line(group, field, weight, found.lists))
    return Plan(lines, len(terms))
