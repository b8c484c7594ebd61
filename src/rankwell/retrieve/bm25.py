"""BM25: the first stage of most pipelines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rankwell.core import ParameterError, RankwellError, Run, Stage
from rankwell.core.parameters import Text, Whole, check_parameters, like, param
from rankwell.index import IDFS, MATCHES, Hits, Mask, Scoring, SearchIndex, as_index
from rankwell.retrieve import candidates
from rankwell.retrieve.matching import Asked

TermWeights = Mapping[str, float]


@dataclass(frozen=True)
class BM25(Stage):
    """The k best documents of an index for each query.

    score = sum over terms of  idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / avgdl))

    (Robertson, Walker et al., "Okapi at TREC-3", 1994; `idf` names the variant, see `rankwell.index.IDFS`.) Without
    `weights` the combined text of the indexed fields is searched, with them the sum of each field's BM25. `match`
    selects the documents: "or", "and", "expr:..." or several (`rankwell.retrieve.parse_match`); those that match an
    expression without a word of the query have score 0. `filter` is a condition on metadata,
    `within` a mask over the index or document numbers. `query_field` names the wording (default: the first).
    An index may be given by its address (`rankwell.index.open_index`).

    >>> BM25(index, k1=0.9, b=0.4, filter="year>=2020")("do masks stop droplets?")
    """

    index: SearchIndex
    k1: float = like(Scoring, "k1")
    b: float = like(Scoring, "b")
    idf: str = like(Scoring, "idf")
    weights: Mapping[str, float] | None = like(Scoring, "weights")
    match: str = param(
        "or",
        "Which documents: or, and, 'expr:title:fever AND NOT cough', or several joined by + or &.",
        Text(),
        example="and",
    )
    filter: str | None = param(None, "Condition on metadata.", Text(), example="year>=2020 and source=PMC")
    k: int = param(1000, "Number of documents for each query.", Whole(1), flags=("-k",))
    distinct: bool = like(Scoring, "distinct")
    query_field: str | None = param(
        None, "Which wording of the queries (default: the first).", Text(), example="question"
    )
    within: Any = field(default=None, repr=False, compare=False)
    prune: bool = field(default=True, repr=False, compare=False)
    threads: int = field(default=1, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", as_index(self.index))
        self.scoring()
        candidates.parse_match(self.match)
        check_parameters(self, but=["weights"])
        if self.threads < 1:
            raise ParameterError("threads", expected="a number from 1", found=self.threads)

    def scoring(self) -> Scoring:
        """The parameters for the index's search."""
        match = self.match if self.match in MATCHES else "or"
        return Scoring(self.k1, self.b, self.idf, self.weights, match, self.distinct)

    def restriction(self) -> Mask | None:
        """Mask of the documents that pass filter and `within`, or None for all."""
        if self.filter is None:
            return None if self.within is None else self.index.mask(self.within)
        mask = candidates.filtered(self.filter, self.index)
        return mask if self.within is None else mask & self.index.mask(self.within)

    def check(self) -> None:
        """Refuse fields that the index lacks."""
        self.index.check_fields(self.weights or ())
        candidates.check(self.match, self.filter, self.index)

    def parameters(self) -> dict[str, Any]:
        """The parameters that affect the result, without threads and pruning."""
        return {name: value for name, value in super().parameters().items() if name not in ("threads", "prune")}

    def apply(self, run: Run) -> Run:
        """Search for the run's queries; its documents are ignored."""
        texts, match = self.texts(run), candidates.parse_match(self.match)
        if self.match in MATCHES:
            hits = self._search(list(texts.values()), self.restriction())
        else:
            hits = self._search_matched(list(texts.values()))
        empty = [qid for qid, text in texts.items() if not self.index.analyzer(match.words(text))]
        candidates.warn_of_empty(empty, "terms (empty, or stop words only)")
        return self._run(run, run.qids, hits, "BM25")

    def texts(self, run: Run) -> dict[str, str]:
        """The wordings to search for, by query id."""
        return candidates.query_texts(run, self.query_field)

    def first(self, run: Run, k: int) -> Run:
        """The same search, at most k deep."""
        return replace(self, k=k).apply(run)

    def query_terms(self, text: str) -> TermWeights:
        """The terms with their counts, or 1 each where BM25 uses distinct terms."""
        counts = Counter(self.index.analyzer(text))
        return dict.fromkeys(counts, 1.0) if self.distinct else counts

    def document_terms(self, docno: str) -> Mapping[str, int]:
        """The terms of the weighted fields, or of all."""
        fields = [name for name, weight in (self.weights or {"": 1.0}).items() if weight]
        return sum((self.index.terms_of(docno, name) for name in fields), Counter())

    def search_terms(self, queries: Mapping[str, TermWeights], run: Run) -> Run:
        """Search for weighted terms. The words of the run's query must match, the added terms need not."""
        scoring, given = replace(self.scoring(), match="or"), self.restriction()
        if self.match == "or":
            hits = self._search(list(queries.values()), given, scoring)
        else:
            texts = self.texts(run)
            parts = [
                self._search([terms], self._matched(texts.get(qid, ""), given), scoring)
                for qid, terms in queries.items()
            ]
            hits = candidates.join_hits(parts, self.index)
        return self._run(run, list(queries), hits, run.tag)

    def _run(self, run: Run, qids: Sequence[str], hits: Hits, tag: str) -> Run:
        travelling = {"tag": tag, "queries": run.queries, "documents": self.index.documents}
        return Run.from_columns(qids, hits.offsets, hits.docnos, hits.scores, **travelling)

    def _search(self, queries: Sequence[Any], within: Mask | None, scoring: Scoring | None = None) -> Hits:
        scoring = scoring or self.scoring()
        return self.index.search(queries, self.k, scoring, within=within, prune=self.prune, threads=self.threads)

    def _matched(self, text: str, given: Mask | None) -> Mask:
        mask = candidates.matched(self.match, Asked(text, tuple(self.weights or ("",))), self.index)
        return mask if given is None else mask & given

    def _search_matched(self, texts: Sequence[str]) -> Hits:
        """Search query by query, where each has its own matching documents; those with score 0 come last."""
        match, given = candidates.parse_match(self.match), self.restriction()
        if match.same_for_all:
            return self._with_others([match.words(text) for text in texts], self._matched("", given))
        parts = [self._with_others([match.words(text)], self._matched(text, given)) for text in texts]
        return candidates.join_hits(parts, self.index)

    def _with_others(self, words: Sequence[str], mask: Mask) -> Hits:
        """Search among these documents; those without a query word follow, by the tie rule."""
        hits = self._search(words, mask)
        spans = [slice(start, end) for start, end in pairwise(hits.offsets.tolist())]
        lacking = [span for span in spans if span.stop - span.start < self.k]
        most = max((span.stop - span.start for span in lacking), default=0)
        ids = self.index.first_ids(mask, self.k + most) if lacking else np.zeros(0, dtype=np.int64)
        documents, scores, sizes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.float32)], [0]
        for span in spans:
            own = hits.documents[span]
            others = ids[~np.isin(ids, own)][: self.k - len(own)]
            documents += [own, others]
            scores += [hits.scores[span], np.zeros(len(others), dtype=np.float32)]
            sizes.append(len(own) + len(others))
        return Hits(np.cumsum(sizes), np.concatenate(documents), np.concatenate(scores), self.index)


@dataclass(frozen=True)
class TermPart:
    """The contribution of one query term in one field to a document's score; the field "" is all fields together."""

    term: str
    field: str
    frequency: int
    documents: int  # documents with the term
    idf: float
    weight: float  # the field's weight, times the term's count in the query
    part: float


def explain_score(ranker: BM25, text: str, docno: str) -> list[TermPart]:
    """The parts of a BM25 score in the order of the query's terms; their sum is the score."""
    index = ranker.index
    number = index.number(docno)
    if number is None:
        raise RankwellError(f"{index.path}: expected a document {docno!r}, found none of that id")
    counts = Counter(index.analyzer(text))
    weights = ranker.weights or {"": 1.0}
    frequencies = {name: index.terms_of(docno, name) for name in weights}
    parts = []
    for term, times in counts.items():
        for name, weight in weights.items():
            frequency = frequencies[name][term]
            holding = index.statistics(term, name).documents
            if not frequency or not holding:
                continue
            idf = IDFS[ranker.idf](len(index), holding)
            length = sum(frequencies[name].values()) / index.average_lengths[name]
            saturation = frequency * (ranker.k1 + 1) / (frequency + ranker.k1 * (1 - ranker.b + ranker.b * length))
            total = weight * (1 if ranker.distinct else times)
            parts.append(TermPart(term, name, frequency, holding, idf, total, total * idf * saturation))
    return parts
