"""How documents are scored: BM25's parameters, chosen per search.

    score = sum over terms of  w * idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / avgdl))

Summed in float64 in the order of the query's terms (and for each term in the order of the fields), then rounded to
float32 and ranked by the one tie rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rankwell.core import ParameterError

Idf = Callable[[int, int], float]


def lucene(documents: int, holding: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)), never negative: what Lucene and bm25s compute."""
    return math.log(1 + (documents - holding + 0.5) / (holding + 0.5))


def robertson_raw(documents: int, holding: int) -> float:
    """ln((N - n + 0.5) / (n + 0.5)), negative for a term in more than half of the documents."""
    return math.log((documents - holding + 0.5) / (holding + 0.5))


def robertson(documents: int, holding: int) -> float:
    """The same, with 0 in place of what is negative."""
    return max(0.0, robertson_raw(documents, holding))


def plain(documents: int, holding: int) -> float:
    """log10(N / n)."""
    return math.log10(documents / holding)


IDFS: Mapping[str, Idf] = MappingProxyType(
    {"lucene": lucene, "plain": plain, "robertson": robertson, "robertson-raw": robertson_raw}
)
MATCHES = ("and", "or")
LARGEST_K1 = 1e9  # far beyond it, scores would be no numbers


@dataclass(frozen=True)
class Scoring:
    """BM25's parameters and which documents match.

    Without `weights` the combined text of all fields is searched; with them, the named fields, each with its own
    statistics. `match` is "or" (a document holds at least one term) or "and" (each term, in any searched field).
    `distinct`: a term that the query repeats counts once.
    """

    k1: float = 1.2
    b: float = 0.75
    idf: str = "lucene"
    weights: Mapping[str, float] | None = None
    match: str = "or"
    distinct: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.k1 <= LARGEST_K1:
            raise ParameterError("k1", expected=f"a number from 0 to {LARGEST_K1:.0e}", found=self.k1)
        if not 0 <= self.b <= 1:
            raise ParameterError("b", expected="a number from 0 to 1", found=self.b)
        if self.idf not in IDFS:
            raise ParameterError("idf", expected="one of " + ", ".join(IDFS), found=self.idf)
        if self.match not in MATCHES:
            raise ParameterError("match", expected="one of " + ", ".join(MATCHES), found=self.match)
        if self.weights is not None:
            if not self.weights or not all(0 <= weight < math.inf for weight in self.weights.values()):
                raise ParameterError("weights", expected="a number from 0 for each field", found=dict(self.weights))
            object.__setattr__(self, "weights", MappingProxyType(dict(self.weights)))
