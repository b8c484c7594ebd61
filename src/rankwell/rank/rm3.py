"""RM3: pseudo-relevance feedback. The best documents of a first search lend their terms to a second one."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rankwell.core import ParameterError, Ranking, Run
from rankwell.rank.expansion import Expanding, TermSearch, TermWeights, term_search


@dataclass(frozen=True)
class RM3(Expanding):
    """Adds the terms of the first `fb_docs` documents to the query and searches again.

    P(w|d) = tf(w, d) / |d|
    P(w|R) = sum over the feedback documents of P(w|d) * score(d) / sum of their scores
    P'(w|R): the `fb_terms` largest of them, made to sum to 1
    P(w|Q') = original_query_weight * P(w|Q) + (1 - original_query_weight) * P'(w|R)

    with P(w|Q) = count of w in Q / |Q|. Scores stand in for the query likelihood of the original, which BM25 has not;
    where none is positive all documents count the same. Given a run that has documents already (of a re-ranker, say)
    these are the feedback; given only queries, those that the ranker finds.

    Lavrenko and Croft, "Relevance-based language models", SIGIR 2001; Abdul-Jaleel et al., "UMass at TREC 2004: Novelty
    and HARD", TREC 2004.
    """

    fb_docs: int = 10
    fb_terms: int = 10
    original_query_weight: float = 0.5

    def __post_init__(self) -> None:
        for name in ("fb_docs", "fb_terms"):
            if getattr(self, name) < 1:
                raise ParameterError(name, expected="a number, at least 1", found=getattr(self, name))
        if not 0 <= self.original_query_weight <= 1:
            expected = "a number from 0 to 1"
            raise ParameterError("original_query_weight", expected=expected, found=self.original_query_weight)

    def apply(self, run: Run) -> Run:
        """Search, learn, and search again."""
        search = term_search(self.ranker)
        feedback = run.top(self.fb_docs) if len(run) else search.first(run, self.fb_docs)
        expanded = {qid: self.expanded(text, feedback[qid], search) for qid, text in search.texts(run).items()}
        return search.search_terms(expanded, run)

    def expanded(self, text: str, feedback: Ranking, search: TermSearch) -> TermWeights:
        """The weighted terms of the second search. A query that found nothing stays as it is."""
        query = unit_sum(search.query_terms(text))
        documents = ((score, search.document_terms(docno)) for docno, score in feedback)
        learnt = unit_sum(largest(relevance_model(documents), self.fb_terms))
        if not learnt:
            return query
        return mixed(query, learnt, self.original_query_weight)


def relevance_model(documents: Iterable[tuple[float, Mapping[str, int]]]) -> dict[str, float]:
    """RM1: the mean of the documents' term distributions, weighted by their scores. (Score, frequencies) a document."""
    found = [(max(score, 0.0), frequencies) for score, frequencies in documents]
    if not any(score for score, _ in found):
        found = [(1.0, frequencies) for _, frequencies in found]
    total = sum(score for score, _ in found)
    model: dict[str, float] = {}
    for score, frequencies in found:
        length = sum(frequencies.values())
        for term, frequency in frequencies.items():
            model[term] = model.get(term, 0.0) + score / total * frequency / length
    return model


def largest(weights: TermWeights, count: int) -> dict[str, float]:
    """The terms of largest weight, by name where weights are equal."""
    return dict(heapq.nsmallest(count, weights.items(), key=lambda item: (-item[1], item[0])))


def unit_sum(weights: TermWeights) -> dict[str, float]:
    """The weights, made to sum to 1."""
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()} if total else {}


def mixed(first: TermWeights, second: TermWeights, share: float) -> dict[str, float]:
    """`share * first + (1 - share) * second`, without what has no weight."""
    terms = dict.fromkeys((*first, *second))
    both = {term: share * first.get(term, 0.0) + (1 - share) * second.get(term, 0.0) for term in terms}
    return {term: weight for term, weight in both.items() if weight}
