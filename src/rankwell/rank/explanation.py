"""Why a document has its score: the parts that each term adds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rankwell.core import RankwellError
from rankwell.index.scoring import IDFS
from rankwell.rank.bm25 import BM25


@dataclass(frozen=True)
class TermPart:
    """What one term of the query in one field adds to a document's score; the field "" is all of them together."""

    term: str
    field: str
    frequency: int
    documents: int  # that hold the term
    idf: float
    weight: float  # the field's, times how often the query has the term
    part: float


def explain_score(ranker: BM25, text: str, docno: str) -> list[TermPart]:
    """The parts of a BM25 score, in the order of the query's terms; they add up to it."""
    index = ranker.index
    number = index.number(docno)
    if number is None:
        raise RankwellError(f"{index.path}: expected a document {docno!r}, found none of that id")
    counts = Counter(index.analyzer(text))
    weights = ranker.weights or {"": 1.0}
    frequencies = {field: index.terms_of(docno, field) for field in weights}
    parts = []
    for term, times in counts.items():
        for field, weight in weights.items():
            frequency = frequencies[field][term]
            holding = index.statistics(term, field).documents
            if not frequency or not holding:
                continue
            idf = IDFS[ranker.idf](len(index), holding)
            length = sum(frequencies[field].values()) / index.average_lengths[field]
            saturation = frequency * (ranker.k1 + 1) / (frequency + ranker.k1 * (1 - ranker.b + ranker.b * length))
            total = weight * (1 if ranker.distinct else times)
            parts.append(TermPart(term, field, frequency, holding, idf, total, total * idf * saturation))
    return parts
