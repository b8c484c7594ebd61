"""Expanded queries: terms with weights instead of words, and expansion by similar queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from rankwell.core import ParameterError, RankwellError, Run, Stage
from rankwell.match import Asked, matched
from rankwell.match.logic import Mask
from rankwell.rank.bm25 import BM25

TermWeights = Mapping[str, float]


@runtime_checkable
class TermSearch(Protocol):
    """A ranker whose score is a sum over terms, so that a query can as well be terms with weights."""

    def texts(self, run: Run) -> dict[str, str]:
        """The wording of a run's queries that is searched for, by id."""

    def first(self, run: Run, k: int) -> Run:
        """The k best documents for the queries as they are."""

    def query_terms(self, text: str) -> TermWeights:
        """The terms of a query, each with the number of times it counts."""

    def document_terms(self, docno: str) -> Mapping[str, int]:
        """The terms of a document with their frequencies, in the fields that are searched."""

    def search_terms(self, queries: Mapping[str, TermWeights], run: Run) -> Run:
        """Rank documents for weighted terms, by query id; OR matches by these, AND by the words of the run's query."""


@dataclass(frozen=True)
class BM25Terms:
    """BM25 with weighted terms."""

    ranker: BM25

    def texts(self, run: Run) -> dict[str, str]:
        """In the wording that BM25 searches for."""
        return query_texts(run, self.ranker.query_field)

    def first(self, run: Run, k: int) -> Run:
        """The same search, no deeper than asked."""
        return replace(self.ranker, k=k).apply(run)

    def query_terms(self, text: str) -> TermWeights:
        """Counted, or once each where BM25 is to look at distinct terms."""
        counts = Counter(self.ranker.index.analyzer(text))
        return dict.fromkeys(counts, 1.0) if self.ranker.distinct else counts

    def document_terms(self, docno: str) -> Mapping[str, int]:
        """Of the weighted fields, or of all."""
        fields = [name for name, weight in (self.ranker.weights or {"": 1.0}).items() if weight]
        return sum((self.ranker.index.terms_of(docno, name) for name in fields), Counter())

    def search_terms(self, queries: Mapping[str, TermWeights], run: Run) -> Run:
        """All at once, or one by one where each has its own documents to look at."""
        ranker, texts = self.ranker, self.texts(run)
        if ranker.match == "or":
            return self._searched(list(queries), list(queries.values()), None, run)
        # The words of the query must be there, the terms that were added need not.
        fields = tuple(ranker.weights or ("",))
        masks = (matched(ranker.match, Asked(texts.get(qid, ""), fields), ranker.index) for qid in queries)
        runs = [
            self._searched([qid], [terms], mask, run) for (qid, terms), mask in zip(queries.items(), masks, strict=True)
        ]
        return joined(runs, run)

    def _searched(self, qids: Sequence[str], terms: Sequence[TermWeights], mask: Mask | None, run: Run) -> Run:
        ranker, index = self.ranker, self.ranker.index
        given = ranker.restriction()
        within = given if mask is None else mask if given is None else mask & given
        scoring = replace(ranker.scoring(), match="or")
        hits = index.search(terms, ranker.k, scoring, within=within, prune=ranker.prune, threads=ranker.threads)
        travelling = {"tag": run.tag, "queries": run.queries, "documents": index.documents}
        return Run.from_columns(qids, hits.offsets, hits.docnos, hits.scores, **travelling)


def term_search(ranker: Stage) -> TermSearch:
    """A ranker as one that takes weighted terms."""
    if isinstance(ranker, BM25):
        return BM25Terms(ranker)
    if isinstance(ranker, TermSearch):
        return ranker
    raise ParameterError("ranker", expected="a ranker by terms, as BM25", found=ranker)


@dataclass(frozen=True)
class Expanding(Stage):
    """A stage that asks its ranker, which is one by terms (BM25, TF-IDF), with another query."""

    ranker: Stage

    def check(self) -> None:
        """The ranker must be able to take weighted terms."""
        term_search(self.ranker)
        self.ranker.check()


@dataclass(frozen=True)
class SimilarQueries(Expanding):
    """Ranks by a query and by its variants, each with its weight.

    BM25*(Q, D) = BM25(Q, D) + sum_i w_i BM25(Q_i, D)

    where w_i is the similarity of the variant Q_i to Q (S0 5.1). BM25 is a sum over terms, so this is one search with
    the weighted terms of all of them, and exact: no document is lost between several lists. A query without variants
    is ranked as it is.
    """

    variants: Mapping[str, Sequence[tuple[str, float]]]  # query id -> (text, weight)

    def __post_init__(self) -> None:
        for qid, given in self.variants.items():
            for variant in given:
                if not math.isfinite(variant[1]):
                    raise ParameterError(f"variants of query {qid}", expected="finite weights", found=variant)

    def apply(self, run: Run) -> Run:
        """One search with all terms."""
        search = term_search(self.ranker)
        expanded = {
            qid: weighted_sum([(text, 1.0), *self.variants.get(qid, ())], search)
            for qid, text in search.texts(run).items()
        }
        return search.search_terms(expanded, run)


def weighted_sum(queries: Sequence[tuple[str, float]], search: TermSearch) -> TermWeights:
    """The terms of several queries in one, each with the sum of its weights; those that cancel out are left out."""
    total: dict[str, float] = {}
    for text, weight in queries:
        for term, count in search.query_terms(text).items():
            total[term] = total.get(term, 0.0) + weight * count
    return {term: weight for term, weight in total.items() if weight}


def query_texts(run: Run, field: str | None = None) -> dict[str, str]:
    """The texts of a run's queries, in the wording of that name or the first."""
    if run.queries is None:
        raise RankwellError(f"run {run.tag!r}: expected the texts of its queries, found only their ids")
    for qid in run.qids:
        if qid not in run.queries:
            raise RankwellError(f"run {run.tag!r}: expected the text of query {qid!r}, found only its id")
    return {qid: run.queries[qid].text(field) for qid in run.qids}


def joined(runs: Sequence[Run], given: Run) -> Run:
    """Runs of different queries as one, with what came along."""
    scores = {qid: dict(ranking) for run in runs for qid, ranking in run.rankings()}
    documents = next((run.documents for run in runs), None)
    return Run.from_dict(scores, tag=given.tag, queries=given.queries, documents=documents)
