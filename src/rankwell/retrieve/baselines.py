"""Baselines: TF-IDF (cosine in the vector space, and the plain sum) and the random ranker."""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rankwell.core import Integers, ParameterError, Run, Stage, Strings, Values, strings
from rankwell.core.parameters import Text, Whole, check_parameters, like, param
from rankwell.index import Index, Mask, as_index, in_folder
from rankwell.index.postings import stretches, triples_of
from rankwell.index.segment import Segment
from rankwell.retrieve.bm25 import BM25, TermWeights
from rankwell.retrieve.candidates import filtered, matched, parse_match, query_texts
from rankwell.retrieve.matching import AnyTerm, Asked, Match

CHUNK = 1 << 22  # postings processed at once


def plain_idf(documents: int, holding: int) -> float:
    """log(N / n): 0 for a term in every document."""
    return math.log(documents / holding)


def smooth_idf(documents: int, holding: int) -> float:
    """log(N / (n + 1)): slightly below 0 for a term in every document (COVID-19 study, 3.7-3.11)."""
    return math.log(documents / (holding + 1))


IDFS = {"plain": plain_idf, "smooth": smooth_idf}
FREQUENCIES = ("raw", "share")


@dataclass(frozen=True)
class TfIdf(Stage):
    """What both variants share: which documents are scored, and how many are kept.

    All fields together are searched, or one `field`. `match` and `filter` are those of the command (`or`, `and`,
    `expr:...`; `year>=2020`). A matched document that holds no term of the query gets 0. `query_field` names the
    wording of the queries that is searched for (the first where it is not given).
    """

    index: Index
    field: str = param("", "The field to search (default: all as one text).", Text())
    match: str | Match = like(BM25, "match")
    filter: str | None = like(BM25, "filter")
    k: int = like(BM25, "k")
    query_field: str | None = like(BM25, "query_field")

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", as_index(self.index))
        parse_match(self.match)
        check_parameters(self, but=["match"])

    def check(self) -> None:
        """Refuse an unknown field, and an index that is not in a folder."""
        in_folder(self.index, "TF-IDF", "use BM25 there")
        self.index.check_fields([self.field] if self.field else [])
        parse_match(self.match).check(self.index.fields)

    def apply(self, run: Run) -> Run:
        """Rank the documents of every query."""
        return self.search_terms({qid: self.query_terms(text) for qid, text in self.texts(run).items()}, run)

    def first(self, run: Run, k: int) -> Run:
        """The k best documents of each query."""
        return self.apply(run).top(k)

    def texts(self, run: Run) -> dict[str, str]:
        """The query wordings to search for, by id."""
        return query_texts(run, self.query_field)

    def query_terms(self, text: str) -> TermWeights:
        """The terms of a query with their counts."""
        return Counter(self.index.analyzer(text))

    def document_terms(self, docno: str) -> Mapping[str, int]:
        """The terms of a document with their frequencies."""
        return self.index.terms_of(docno, self.field)

    def search_terms(self, queries: Mapping[str, TermWeights], run: Run) -> Run:
        """Rank by weighted terms. OR matches by these terms, other functions by the text of the run's query."""
        texts = self.texts(run)
        allowed = self.index.live if self.filter is None else self.index.mask(filtered(self.filter, self.index))
        rankings = [self._best(terms, texts.get(qid, ""), allowed) for qid, terms in queries.items()]
        documents = np.concatenate([np.zeros(0, dtype=np.int64), *(numbers for numbers, _ in rankings)])
        scores = np.concatenate([np.zeros(0), *(scores for _, scores in rankings)])
        offsets = np.cumsum([0, *(len(numbers) for numbers, _ in rankings)])
        travelling = {"tag": "tfidf", "queries": run.queries, "documents": self.index.documents}
        docnos = self.index.docnos(documents)
        return Run.from_columns(list(queries), offsets, docnos, scores, **travelling).top(self.k)

    @abstractmethod
    def scores(self, terms: TermWeights) -> tuple[Values, Mask]:
        """The score of each document, and a mask of those with a query term."""

    def _best(self, terms: TermWeights, text: str, allowed: Mask) -> tuple[Integers, Values]:
        """The candidates for the k best documents of one query, with their scores."""
        scores, holding = self.scores(terms)
        match = parse_match(self.match)
        mask = holding if isinstance(match, AnyTerm) else matched(match, Asked(text, (self.field,)), self.index)
        numbers = np.flatnonzero(self.index.mask(mask & allowed))
        rounded = scores[numbers].astype(np.float32)  # in the precision of the comparison
        if len(numbers) > self.k:
            kept = rounded >= np.partition(rounded, len(rounded) - self.k)[len(rounded) - self.k]
            numbers = numbers[kept]
        return numbers, scores[numbers]


@dataclass(frozen=True)
class SumTfIdf(TfIdf):
    """The plain sum over the terms of the query (COVID-19 study, 3.7-3.11).

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
        """Sum the scores term by term."""
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
    """The vector space: the cosine of the angle between query and document (document-ranking study, 2.1.3).

    w(t, d) = tf(t, d) * log(N / n)        likewise for the query
    score(q, d) = sum_t w(t, q) w(t, d) / (|q| |d|)

    Salton, Wong and Yang, "A vector space model for automatic indexing", CACM 1975. The lengths of all document vectors
    are computed at the first search. A vector of only terms that all documents contain has no direction: 0.

    >>> TfIdf(index)("droplets")
    """

    def scores(self, terms: TermWeights) -> tuple[Values, Mask]:
        """Sum term by term, then divide by both lengths."""
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
    """The live postings of a field in groups of terms: first term, then terms (relative to it), documents, counts."""
    if field not in segment.spaces:
        return
    base = segment.spaces[field] * len(segment.terms)
    for first, end in stretches(segment, segment.spaces[field], CHUNK):
        numbers, documents, frequencies = triples_of(segment, first, end)
        alive = np.ones(len(documents), dtype=bool) if segment.dead is None else ~segment.dead[documents]
        yield first - base, numbers[alive].astype(np.int64), documents[alive].astype(np.int64), frequencies[alive]


@dataclass(frozen=True)
class RandomRanker(Stage):
    """Shuffles the documents that it gets: those of a first stage, or `docnos`.

    The order for a query depends only on the seed, its id and the set of its documents, so that a query gets the same
    order alone or among others. A query without documents gets a uniform sample of `k`
    `docnos`. Scores fall from 1 in equal steps.

    >>> (BM25(index) >> RandomRanker(seed=1))(queries)
    """

    version: ClassVar[int] = 2  # 2: a query without documents gets the same sample alone and among others

    seed: int = param(0, "Random seed.", Whole())
    docnos: Sequence[str] = ()
    k: int = like(BM25, "k")

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply(self, run: Run) -> Run:
        """Shuffle the documents of each query, or draw where it has none."""
        known = strings(sorted(set(self.docnos)))
        k = min(self.k, len(known))
        docnos, scores = [known[:0]], [np.zeros(0)]
        for qid, ranking in run.rankings():
            if len(ranking):
                docnos.append(ranking.docnos)
                scores.append(self._shuffled(qid, ranking.docnos))
            else:
                docnos.append(known[self._generator(qid).choice(len(known), k, replace=False)])
                scores.append(falling(k))
        offsets = np.cumsum([len(part) for part in scores])
        travelling = {"tag": run.tag if len(run) else "random", "queries": run.queries, "documents": run.documents}
        return Run.from_columns(run.qids, offsets, np.concatenate(docnos), np.concatenate(scores), **travelling)

    def _shuffled(self, qid: str, docnos: Strings) -> np.ndarray:
        """New scores for the documents of a query, in their given order."""
        scores = np.empty(len(docnos))
        by_name = np.argsort(docnos, kind="stable")
        scores[by_name[self._generator(qid).permutation(len(docnos))]] = falling(len(docnos))
        return scores

    def _generator(self, qid: str) -> np.random.Generator:
        digest = hashlib.sha256(f"{self.seed}\0{qid}".encode("utf-8", "surrogatepass")).digest()
        return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def falling(count: int) -> np.ndarray:
    """`count` scores, from 1 down to nearly 0."""
    return 1 - np.arange(count) / max(count, 1)
