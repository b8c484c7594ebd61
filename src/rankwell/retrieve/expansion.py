"""Query expansion to weighted terms, by similar queries or by RM3."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from rankwell.core import ParameterError, Ranking, Run, Stage
from rankwell.core.parameters import Number, Whole, check_parameters, param
from rankwell.index import SearchIndex, in_folder
from rankwell.retrieve.bm25 import TermWeights
from rankwell.vectors import Embeddings, remembered, vocabulary_of
from rankwell.vectors.quantise import unit


@runtime_checkable
class TermSearch(Protocol):
    """A ranker whose score is a sum over terms, so that queries can be weighted terms."""

    def texts(self, run: Run) -> dict[str, str]:
        """The query wordings of a run to search for, by id."""

    def first(self, run: Run, k: int) -> Run:
        """The k best documents for the original queries."""

    def query_terms(self, text: str) -> TermWeights:
        """The terms of a query with their counts."""

    def document_terms(self, docno: str) -> Mapping[str, int]:
        """The terms of a document with their frequencies, in the searched fields."""

    def search_terms(self, queries: Mapping[str, TermWeights], run: Run) -> Run:
        """Rank documents for weighted terms, by query id; OR matches these terms, AND the words of the run's query."""


@dataclass(frozen=True)
class Expanding(Stage):
    """A stage that expands queries for a term-based ranker (BM25, TF-IDF)."""

    ranker: Stage

    @property
    def search(self) -> TermSearch:
        """The ranker, which must be able to search weighted terms."""
        if isinstance(self.ranker, TermSearch):
            return self.ranker
        raise ParameterError("ranker", expected="a ranker by terms, as BM25", found=self.ranker)

    def check(self) -> None:
        """Refuse a ranker that cannot search weighted terms."""
        _ = self.search
        self.ranker.check()


@dataclass(frozen=True)
class SimilarQueries(Expanding):
    """Ranks by a query and its variants, each with its weight.

    BM25*(Q, D) = BM25(Q, D) + sum_i w_i BM25(Q_i, D)

    where w_i is the similarity of the variant Q_i to Q (COVID-19 study, 5.1). BM25 is a sum over terms, so this is one
    search with the weighted terms of all of them, and exact: no document is lost by merging lists. A query without
    variants is ranked unchanged.

    >>> SimilarQueries(BM25(index), {"q1": [("face coverings", 0.5)]})(queries)
    """

    variants: Mapping[str, Sequence[tuple[str, float]]]  # query id -> (text, weight)

    def __post_init__(self) -> None:
        for qid, given in self.variants.items():
            for variant in given:
                if not math.isfinite(variant[1]):
                    raise ParameterError(f"variants of query {qid}", expected="finite weights", found=variant)

    def apply(self, run: Run) -> Run:
        """Search once with all terms of a query and its variants."""
        texts = self.search.texts(run)
        expanded = {qid: self._sum([(text, 1.0), *self.variants.get(qid, ())]) for qid, text in texts.items()}
        return self.search.search_terms(expanded, run)

    def _sum(self, queries: Sequence[tuple[str, float]]) -> TermWeights:
        """The terms of several queries as one, with summed weights; terms of weight 0 are left out."""
        total: dict[str, float] = {}
        for text, weight in queries:
            for term, count in self.search.query_terms(text).items():
                total[term] = total.get(term, 0.0) + weight * count
        return {term: weight for term, weight in total.items() if weight}


@dataclass(frozen=True)
class RM3(Expanding):
    """Adds the terms of the first `fb_docs` documents to the query and searches again.

    P(w|d) = tf(w, d) / |d|
    P(w|R) = sum over the feedback documents of P(w|d) * score(d) / sum of their scores
    P'(w|R): the `fb_terms` largest of them, made to sum to 1
    P(w|Q') = original_query_weight * P(w|Q) + (1 - original_query_weight) * P'(w|R)

    with P(w|Q) = count of w in Q / |Q|. Scores replace the query likelihood of the original, which BM25 lacks;
    where none is positive all documents have equal weight. A query's documents (of a re-ranker, say)
    are its feedback; for a query without documents the ranker is run first.

    Lavrenko and Croft, "Relevance-based language models", SIGIR 2001; Abdul-Jaleel et al., "UMass at TREC 2004: Novelty
    and HARD", TREC 2004.

    >>> RM3(BM25(index), fb_docs=5)(queries)
    """

    version: ClassVar[int] = 2  # 2: a query without documents gets the same feedback alone and among others

    fb_docs: int = param(10, "RM3: number of feedback documents.", Whole(1))
    fb_terms: int = param(10, "RM3: number of feedback terms.", Whole(1))
    original_query_weight: float = param(0.5, "RM3: weight of the original query.", Number(0, 1))

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply(self, run: Run) -> Run:
        """Get feedback, expand the queries, and search again."""
        feedback = self._feedback(run)
        expanded = {qid: self.expanded(text, feedback[qid]) for qid, text in self.search.texts(run).items()}
        return self.search.search_terms(expanded, run)

    def _feedback(self, run: Run) -> dict[str, Ranking]:
        """The feedback documents of each query."""
        feedback = dict(run.top(self.fb_docs).rankings())
        without = [qid for qid, ranking in feedback.items() if not len(ranking)]
        if without and run.queries is not None:
            asked = Run.of_queries(run.queries.only(without))
            feedback |= dict(self.search.first(asked, self.fb_docs).rankings())
        return feedback

    def expanded(self, text: str, feedback: Ranking) -> TermWeights:
        """The weighted terms of the second search. A query without feedback is unchanged."""
        query = unit_sum(self.search.query_terms(text))
        documents = ((score, self.search.document_terms(docno)) for docno, score in feedback)
        learnt = unit_sum(largest(relevance_model(documents), self.fb_terms))
        return mixed(query, learnt, self.original_query_weight) if learnt else query


def relevance_model(documents: Iterable[tuple[float, Mapping[str, int]]]) -> dict[str, float]:
    """RM1: the score-weighted mean of the documents' term distributions, from (score, frequencies) of each."""
    weighted = [(max(score, 0.0), frequencies) for score, frequencies in documents]
    if not any(score for score, _ in weighted):
        weighted = [(1.0, frequencies) for _, frequencies in weighted]
    total = sum(score for score, _ in weighted)
    model: dict[str, float] = {}
    for score, frequencies in weighted:
        length = sum(frequencies.values())
        for term, frequency in frequencies.items():
            model[term] = model.get(term, 0.0) + score / total * frequency / length
    return model


def largest(weights: TermWeights, count: int) -> dict[str, float]:
    """The terms of largest weight, ties by name."""
    return dict(heapq.nsmallest(count, weights.items(), key=lambda item: (-item[1], item[0])))


def unit_sum(weights: TermWeights) -> dict[str, float]:
    """The weights, normalised to sum 1."""
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()} if total else {}


def mixed(first: TermWeights, second: TermWeights, share: float) -> dict[str, float]:
    """`share * first + (1 - share) * second`, without terms of weight 0."""
    terms = dict.fromkeys((*first, *second))
    both = {term: share * first.get(term, 0.0) + (1 - share) * second.get(term, 0.0) for term in terms}
    return {term: weight for term, weight in both.items() if weight}


NEIGHBOURS = 10  # nearest vocabulary words considered for each word of a query

Variants = dict[str, list[tuple[str, float]]]


class Swap(NamedTuple):
    """A query with one word replaced, and the similarity of the two words."""

    qid: str
    text: str
    nearness: float


def query_variants(index: SearchIndex, queries: Mapping[str, str], n: int = 5, *, name: str | None = None) -> Variants:
    """For each query (text by id) up to n similar ones with their weights, the most similar first.

    A variant is the query with one word swapped for one of the nearest in the collection's vocabulary; of all such
    swaps the n of the nearest words are taken. A variant's weight is the cosine of its vector and the query's. All
    vectors come from the bi-encoder of the index's own (`name` says which, where it has several). To be used as in
    `SimilarQueries(BM25(index), query_variants(index, texts))`.
    """
    if n < 1:
        raise ParameterError("n", expected="a number of variants, at least 1", found=n)
    folder = in_folder(index, "similar queries (--variants)", "expand queries with RM3 (--rm3) there")
    embeddings = remembered(folder, name)
    variants: dict[str, list[str]] = {qid: [] for qid in queries}
    for swap in sorted(_swaps(embeddings, queries), key=lambda swap: (-swap.nearness, swap.text)):
        own = variants[swap.qid]
        if len(own) < n and swap.text not in own:
            own.append(swap.text)
    return _weighted(embeddings, queries, variants)


def _swaps(embeddings: Embeddings, queries: Mapping[str, str]) -> Iterator[Swap]:
    """Every content word of every query, replaced by each of its neighbours."""
    analyzer, vocabulary = embeddings.index.analyzer, vocabulary_of(embeddings)
    places = [(qid, start, end) for qid, text in queries.items() for _, _, start, end in analyzer.positions(text)]
    words = list(dict.fromkeys(queries[qid][start:end].lower() for qid, start, end in places))
    if not words or not vocabulary.words:
        return
    near, cosines = vocabulary.nearest(embeddings.encoder().encode(words), NEIGHBOURS)
    line = {word: number for number, word in enumerate(words)}
    for qid, start, end in places:
        text, own = queries[qid], line[queries[qid][start:end].lower()]
        for place, cosine in zip(near[own].tolist(), cosines[own].tolist(), strict=True):
            if vocabulary.terms[place] not in analyzer(text):  # nor an inflection of the replaced word
                yield Swap(qid, text[:start] + vocabulary.words[place] + text[end:], cosine)


def _weighted(embeddings: Embeddings, queries: Mapping[str, str], variants: Mapping[str, Sequence[str]]) -> Variants:
    """The variants with their similarities to the query."""
    texts = list(dict.fromkeys((*queries.values(), *(text for own in variants.values() for text in own))))
    if not texts:
        return {}
    vectors = dict(zip(texts, unit(embeddings.encoder().encode_queries(texts)), strict=True))
    weighted: Variants = {}
    for qid, own in variants.items():
        weights = [(text, float(np.dot(vectors[text], vectors[queries[qid]]))) for text in own]
        weighted[qid] = sorted((pair for pair in weights if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))
    return weighted
