"""A ranker by terms that fits on a page: the score is the weighted sum of term frequencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from rankwell.core import Run, Stage
from rankwell.retrieve.candidates import query_texts


@dataclass(frozen=True)
class Frequencies(Stage):
    """score(d) = sum over terms of weight * tf."""

    corpus: Mapping[str, str]
    asked: list[Mapping[str, Mapping[str, float]]] = field(default_factory=list)

    def apply(self, run: Run) -> Run:
        return self.search_terms({qid: self.query_terms(text) for qid, text in self.texts(run).items()}, run)

    def first(self, run: Run, k: int) -> Run:
        return self.apply(run).top(k)

    def texts(self, run: Run) -> dict[str, str]:
        return query_texts(run)

    def query_terms(self, text: str) -> Mapping[str, float]:
        return Counter(text.split())

    def document_terms(self, docno: str) -> Mapping[str, int]:
        return Counter(self.corpus[docno].split())

    def search_terms(self, queries: Mapping[str, Mapping[str, float]], run: Run) -> Run:
        self.asked.append(queries)
        scores = {qid: {docno: self._score(docno, terms) for docno in self.corpus} for qid, terms in queries.items()}
        found = {qid: {docno: score for docno, score in of.items() if score} for qid, of in scores.items()}
        return Run.from_dict(found, queries=run.queries)

    def _score(self, docno: str, terms: Mapping[str, float]) -> float:
        frequencies = self.document_terms(docno)
        return sum(weight * frequencies[term] for term, weight in terms.items())


@pytest.fixture
def ranker() -> Frequencies:
    """Over four documents."""
    return Frequencies(
        {
            "fox": "quick brown fox fox",
            "dog": "lazy dog dog fox",
            "cat": "lazy cat",
            "den": "fox den den den",
        }
    )
