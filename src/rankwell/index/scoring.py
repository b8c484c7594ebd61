"""BM25's parameters, chosen per search.

    score = sum over terms of  w * idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / avgdl))

Summed in float64 in the order of the query's terms (and for each term in the order of the fields), then rounded to
float32 and ranked by the one tie rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from rankwell.analysis import Analyzer
from rankwell.core import ParameterError
from rankwell.core.parameters import Flag, Number, Text, Weights, check_parameters, param
from rankwell.index.blocks import COMBINED

Idf = Callable[[int, int], float]


def lucene(documents: int, holding: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)), never negative: the variant of Lucene and bm25s."""
    return math.log(1 + (documents - holding + 0.5) / (holding + 0.5))


def robertson_raw(documents: int, holding: int) -> float:
    """ln((N - n + 0.5) / (n + 0.5)), negative for a term in more than half of the documents."""
    return math.log((documents - holding + 0.5) / (holding + 0.5))


def robertson(documents: int, holding: int) -> float:
    """The same, with 0 in place of negative values."""
    return max(0.0, robertson_raw(documents, holding))


def plain(documents: int, holding: int) -> float:
    """log10(N / n)."""
    return math.log10(documents / holding)


IDFS: Mapping[str, Idf] = MappingProxyType(
    {"lucene": lucene, "plain": plain, "robertson": robertson, "robertson-raw": robertson_raw}
)
MATCHES = ("and", "or")
LARGEST_K1 = 1e9  # far beyond it, scores would overflow


@dataclass(frozen=True)
class Scoring:
    """BM25's parameters and which documents match.

    Without `weights` the combined text of all fields is searched; with them, the named fields, each with its own
    statistics. `match` is "or" (a document has at least one term) or "and" (each term, in any searched field).
    `distinct`: a term that the query repeats counts once.
    """

    k1: float = param(1.2, "BM25: term-frequency saturation (k1).", Number(0, LARGEST_K1), example=0.9)
    b: float = param(0.75, "BM25: length normalisation (b).", Number(0, 1), example=0.4)
    idf: str = param("lucene", "BM25: IDF variant.", Text(tuple(IDFS)), example="lucene")
    weights: Mapping[str, float] | None = param(
        None,
        "Search these fields with weights, instead of all as one text.",
        Weights(),
        example="title=0.25,abstract=0.6",
    )
    match: str = param("or", "Documents with any term (or), or with all (and).", Text(MATCHES))
    distinct: bool = param(False, "Count a term that the query repeats once.", Flag())

    def __post_init__(self) -> None:
        check_parameters(self, but=["weights"])
        if self.weights is not None:
            if not self.weights or not all(0 <= weight < math.inf for weight in self.weights.values()):
                raise ParameterError("weights", expected="a number from 0 for each field", found=dict(self.weights))
            object.__setattr__(self, "weights", MappingProxyType(dict(self.weights)))


QueryTerms = Mapping[str, float]


class TermStatistics(NamedTuple):
    """A term in a field: its list in each segment (None: absent), and its number of live documents."""

    lists: tuple[int | None, ...]
    documents: int


class QueryLine(NamedTuple):
    """A posting list's part in a query: the query's term, the field, the weight, the lists."""

    group: int
    field: str
    weight: float
    lists: tuple[int | None, ...]


@dataclass(frozen=True)
class Plan:
    """The lines of one query in the order of summation; `groups` is the number of its terms."""

    lines: Sequence[QueryLine]
    groups: int


def query_terms(query: str | QueryTerms, analyzer: Analyzer, *, distinct: bool) -> QueryTerms:
    """The terms of a query in order of first occurrence, with their counts."""
    if isinstance(query, Mapping):
        return query
    counts: dict[str, float] = {}
    for term in analyzer(query):
        counts[term] = 1.0 if distinct else counts.get(term, 0.0) + 1.0
    return counts


def planned(
    terms: QueryTerms, scoring: Scoring, documents: int, statistics: Callable[[str, str], TermStatistics]
) -> Plan:
    """The plan of one query. A term without documents counts among the groups but has no line."""
    idf, fields = IDFS[scoring.idf], scoring.weights or {COMBINED: 1.0}
    lines = []
    for group, (term, boost) in enumerate(terms.items()):
        for field, field_weight in fields.items():
            of_term = statistics(term, field)
            if of_term.documents:
                weight = boost * field_weight * idf(documents, of_term.documents) * (scoring.k1 + 1)
                lines.append(QueryLine(group, field, weight, of_term.lists))
    return Plan(lines, len(terms))
