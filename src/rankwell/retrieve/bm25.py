"""BM25: the first stage of most pipelines."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from rankwell.core import ParameterError, RankwellError, Run, Stage
from rankwell.core.parameters import Text, Whole, check_parameters, like, param
from rankwell.index import MATCHES, Hits, Mask, Scoring, SearchIndex, as_index
from rankwell.index.scoring import IDFS
from rankwell.retrieve.candidates import filtered, matched, parse_match
from rankwell.retrieve.filters import filter_mask, parse_filter
from rankwell.retrieve.matching import Asked

logger = logging.getLogger(__name__)
SHOWN = 3


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
        parse_match(self.match)
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
        mask = filtered(self.filter, self.index)
        return mask if self.within is None else mask & self.index.mask(self.within)

    def check(self) -> None:
        """Refuse fields that the index lacks."""
        self.index.check_fields(self.weights or ())
        parse_match(self.match).check(self.index.fields)
        if self.filter is not None:
            filter_mask(parse_filter(self.filter), self.index.columns)

    def parameters(self) -> dict[str, Any]:
        """The parameters that affect the result, without threads and pruning."""
        return {name: value for name, value in super().parameters().items() if name not in ("threads", "prune")}

    def apply(self, run: Run) -> Run:
        """Search for the run's queries; its documents are ignored."""
        if run.queries is None:
            raise RankwellError("BM25: expected a run with its queries, found one without their texts")
        texts = [run.queries[qid].text(self.query_field) for qid in run.qids]
        found = self._search(texts) if self.match in MATCHES else self._search_matched(texts)
        words = map(parse_match(self.match).words, texts)
        empty = [qid for qid, text in zip(run.qids, words, strict=True) if not self.index.analyzer(text)]
        if empty:
            names = ", ".join(empty[:SHOWN]) + (", ..." if len(empty) > SHOWN else "")
            logger.warning(
                "%d queries have no terms (empty, or stop words only) and find nothing: %s", len(empty), names
            )
        return Run.from_columns(
            run.qids,
            found.offsets,
            found.docnos,
            found.scores,
            tag="BM25",
            queries=run.queries,
            documents=self.index.documents,
        )

    def _search(self, texts: Sequence[str], within: Mask | None = None) -> Hits:
        mask = self.restriction() if within is None else within
        scoring = self.scoring()
        return self.index.search(texts, self.k, scoring, within=mask, prune=self.prune, threads=self.threads)

    def _search_matched(self, texts: Sequence[str]) -> Hits:
        """Search query by query, where each has its own matching documents; those with score 0 come last."""
        match, given, fields = parse_match(self.match), self.restriction(), tuple(self.weights or ("",))
        if match.same_for_all:
            mask = matched(match, Asked("", fields), self.index)
            return self._with_others([match.words(text) for text in texts], mask if given is None else mask & given)
        parts = []
        for text in texts:
            mask = matched(match, Asked(text, fields), self.index)
            parts.append(self._with_others([match.words(text)], mask if given is None else mask & given))
        sizes = np.cumsum([0, *(len(part.documents) for part in parts)])
        documents = np.concatenate([np.zeros(0, dtype=np.int64), *(part.documents for part in parts)])
        scores = np.concatenate([np.zeros(0, dtype=np.float32), *(part.scores for part in parts)])
        return Hits(sizes, documents, scores, self.index)

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
