"""The ranker that a command's options ask for."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rankwell.core import ParameterError, Stage
from rankwell.index import Index
from rankwell.rank import BM25, RM3


@dataclass(frozen=True)
class RankerOptions:
    """What `search` and `rank` share."""

    k: int
    match: str = "or"
    filter: str | None = None
    k1: float = 1.2
    b: float = 0.75
    idf: str = "lucene"
    weights: str | None = None
    rm3: bool = False
    rm3_settings: str = "10,10,0.5"
    query_field: str | None = None
    threads: int | None = None

    def bm25(self, index: Index) -> BM25:
        """BM25 with these options."""
        return BM25(
            index,
            k1=self.k1,
            b=self.b,
            idf=self.idf,
            weights=parse_weights(self.weights),
            match=self.match,
            filter=self.filter,
            k=self.k,
            query_field=self.query_field,
            threads=self.threads or os.cpu_count() or 1,
        )

    def ranker(self, index: Index) -> Stage:
        """BM25, or RM3 over it."""
        if not self.rm3:
            return self.bm25(index)
        documents, terms, weight = _rm3(self.rm3_settings)
        return RM3(self.bm25(index), fb_docs=documents, fb_terms=terms, original_query_weight=weight)


def parse_weights(text: str | None) -> dict[str, float] | None:
    """`title=0.25,abstract=0.6` as numbers by field."""
    if text is None:
        return None
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError as error:
        raise ParameterError(
            "--weights", expected="fields with numbers: title=0.25,abstract=0.6", found=text
        ) from error


def _rm3(text: str) -> tuple[int, int, float]:
    try:
        documents, terms, weight = text.split(",")
        return int(documents), int(terms), float(weight)
    except ValueError as error:
        expected = "documents, terms and weight of the original query: 10,10,0.5"
        raise ParameterError("--rm3-settings", expected=expected, found=text) from error


def parse_numbers(name: str, text: str) -> list[float]:
    """`0.9,1.2` as numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ParameterError(name, expected="numbers separated by commas", found=text) from error
