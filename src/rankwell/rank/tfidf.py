"""TF-IDF: the vector space with its cosine, and the plain sum. The rankers that BM25 is compared with."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankwell.clickhouse import embedded_only
from rankwell.core import ParameterError, Run, Stage
from rankwell.core.arrays import Integers
from rankwell.core.scales import Values
from rankwell.index import Index
from rankwell.index.lists import triples_of
from rankwell.index.segment import Segment
from rankwell.match import AnyTerm, Asked, Match, filtered, matched, parse_match
from rankwell.match.logic import Mask
from rankwell.rank.expansion import TermWeights, query_texts

CHUNK = 1 << 22  # postings that are looked at together


def plain_idf(documents: int, holding: int) -> float:
    """log(N / n): of a term in every document 0."""
    return math.log(documents / holding)


def smooth_idf(documents: int, holding: int) -> float:
    """log(N / (n + 1)): a little below 0 for a term in every document (S0 3.7-3.11)."""
    return math.log(documents / (holding + 1))


IDFS = {"plain": plain_idf, "smooth": smooth_idf}
FREQUENCIES = ("raw", "share")


@dataclass(frozen=True)
class TfIdf(Stage):
    """What both have in common: which documents are scored, and how many of them are kept.

    All fields together are searched, or one `field`. `match` and `filter` are those of the command (`or`, `and`,
    `expr:...`; `year>=2020`). A matched document that holds no term of the query gets 0. `query_field` names the
    wording of the queries that is searched for (the first where it is not given).
    """

    index: Index
    field: str = ""
    match: str | Match = "or"
    filter: str | None = None
    k: int = 1000
    query_field: str | None = None

    def __post_init__(self) -> None:
        parse_match(self.match)
        if self.k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=self.k)

    def check(self) -> None:
        """The field must be there, and the index in a folder."""
        embedded_only(self.index, "TF-IDF", "use BM25 there")
        self.index.check_fields([self.field] if self.field else [])
        parse_match(self.match).check(self.index.fields)

    def apply(self, run: Run) -> Run:
        """Rank the documents of every query."""
        return self.search_terms({qid: self.query_terms(text) for qid, text in self.texts(run).items()}, run)

    def first(self, run: Run, k: int) -> Run:
        """The k best of them."""
        return self.apply(run).top(k)

    def texts(self, run: Run) -> dict[str, str]:
        """The wording of the queries that is searched for."""
        return query_texts(run, self.query_field)

    def query_terms(self, text: str) -> TermWeights:
        """The terms of a query with the number of times they come."""
        return Counter(self.index.analyzer(text))

    def document_terms(self, docno: str) -> Mapping[str, int]:
        """The terms of a document with their frequencies."""
        return self.index.terms_of(docno, self.field)

    def search_terms(self, queries: Mapping[str, TermWeights], run: Run) -> Run:
        """Rank by weighted terms. OR matches by these terms, other functions by the text of the run's query."""
        texts = self.texts(run)
        allowed = self.index.live if self.filter is None else filtered(self.filter, self.index)
        found = [self._best(terms, texts.get(qid, ""), allowed) for qid, terms in queries.items()]
        documents = np.concatenate([np.zeros(0, dtype=np.int64), *(numbers for numbers, _ in found)])
        scores = np.concatenate([np.zeros(0), *(scores for _, scores in found)])
        offsets = np.cumsum([0, *(len(numbers) for numbers, _ in found)])
        travelling = {"tag": "tfidf", "queries": run.queries, "documents": self.index.documents}
        docnos = self.index.docnos(documents)
        return Run.from_columns(list(queries), offsets, docnos, scores, **travelling).top(self.k)

    @abstractmethod
    def scores(self, terms: TermWeights) -> tuple[Values, Mask]:
        """The score of every document, and which hold a term of the query."""

    def _best(self, terms: TermWeights, text: str, allowed: Mask) -> tuple[Integers, Values]:
        """The documents of one query that can be among the k best, and their scores."""
        scores, holding = self.scores(terms)
        match = parse_match(self.match)
        mask = holding if isinstance(match, AnyTerm) else matched(match, Asked(text, (self.field,)), self.index)
        numbers = np.flatnonzero(mask & allowed)
        rounded = scores[numbers].astype(np.float32)  # as they will be compared
        if len(numbers) > self.k:
            kept = rounded >= np.partition(rounded, len(rounded) - self.k)[len(rounded) - self.k]
            numbers = numbers[kept]
        return numbers, scores[numbers]


@dataclass(frozen=True)
class SumTfIdf(TfIdf):
    """The plain sum over the terms of the query (S0 3.7-3.11).

    score(q, d) = sum_t tf(t, d) * idf(t)

    `tf` is the number of times (`raw`) or that divided by the length of the document (`share`); `idf` is log(N / (n +
    1)) (`smooth`) or log(N / n) (`plain`), natural unless `base` says otherwise. A term that the query repeats counts
    as often.
    """

    tf: str = "raw"
    idf: str = "smooth"
    base: float = math.e

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("tf", FREQUENCIES), ("idf", tuple(IDFS))):
            if getattr(self, name) not in known:
                raise ParameterError(name, expected=" or ".join(known), found=getattr(self, name))
        if not self.base > 1:
            raise ParameterError("base", expected="a number above 1", found=self.base)

    def scores(self, terms: TermWeights) -> tuple[Values, Mask]:
        """Term by term."""
        scores, holding = np.zeros(self.index.size), np.zeros(self.index.size, dtype=bool)
        for term, weight in terms.items():
            documents, frequencies = self.index.postings(term, self.field)
            if len(documents):
                idf = IDFS[self.idf](len(self.index), len(documents)) / math.log(self.base)
                scores[documents] += weight * idf * self._frequencies(documents, frequencies)
                holding[documents] = True
        return scores, holding

    def _frequencies(self, documents: Integers, frequencies: Integers) -> Values:
        if self.tf == "raw":
            return frequencies.astype(np.float64)
        return frequencies / self._lengths[documents]

    @cached_property
    def _lengths(self) -> Values:
        return self.index.lengths(self.field).astype(np.float64)


@dataclass(frozen=True)
class CosineTfIdf(TfIdf):
    """The vector space: the cosine of the angle between query and document (S4 2.1.3).

    w(t, d) = tf(t, d) * log(N / n)        likewise for the query
    score(q, d) = sum_t w(t, q) w(t, d) / (|q| |d|)

    Salton, Wong and Yang, "A vector space model for automatic indexing", CACM 1975. The lengths of all document vectors
    are worked out at the first search. A vector of nothing but terms that all documents hold has no direction: 0.
    """

    def scores(self, terms: TermWeights) -> tuple[Values, Mask]:
        """Term by term, then divided by both lengths."""
        scores, holding = np.zeros(self.index.size), np.zeros(self.index.size, dtype=bool)
        squares = 0.0
        for term, weight in terms.items():
            documents, frequencies = self.index.postings(term, self.field)
            if len(documents):
                idf = plain_idf(len(self.index), len(documents))
                scores[documents] += weight * idf * idf * frequencies
                holding[documents] = True
                squares += (weight * idf) ** 2
        lengths = self._lengths * math.sqrt(squares)
        return np.divide(scores, lengths, out=np.zeros(len(scores)), where=lengths > 0), holding

    @cached_property
    def _lengths(self) -> Values:
        return vector_lengths(self.index, self.field)


def vector_lengths(index: Index, field: str = "") -> Values:
    """The Euclidean length of every document's vector of tf * log(N / n)."""
    segments = [segment for segment, _ in index.segments]
    holding: Counter[str] = Counter()
    for segment in segments:
        terms = segment.terms.all()
        for first, numbers, _, _ in _postings(segment, field):
            counts = np.bincount(numbers)
            holding.update({terms[first + place]: int(counts[place]) for place in np.flatnonzero(counts).tolist()})
    parts = [np.zeros(0)]
    for segment in segments:
        idf = np.array([plain_idf(len(index), holding[term]) if holding[term] else 0.0 for term in segment.terms.all()])
        squares = np.zeros(segment.documents)
        for first, numbers, documents, frequencies in _postings(segment, field):
            weights = frequencies * idf[first + numbers]
            squares += np.bincount(documents, weights=weights**2, minlength=segment.documents)
        parts.append(np.sqrt(squares))
    return np.concatenate(parts)


def _postings(segment: Segment, field: str) -> Iterator[tuple[int, Integers, Integers, Integers]]:
    """The live postings of a field, some terms at a time: the first term, then terms (from it), documents, counts."""
    if field not in segment.spaces:
        return
    terms = len(segment.terms)
    base = segment.spaces[field] * terms
    ends = segment.file["offsets"].part(base, base + terms + 1).astype(np.int64)
    first = 0
    while first < terms:
        end = max(first + 1, int(np.searchsorted(ends, ends[first] + CHUNK, side="right")) - 1)
        numbers, documents, frequencies = triples_of(segment, base + first, base + end)
        alive = np.ones(len(documents), dtype=bool) if segment.dead is None else ~segment.dead[documents]
        yield first, numbers[alive].astype(np.int64), documents[alive].astype(np.int64), frequencies[alive]
        first = end
