"""BM25: the first stage of most pipelines."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from rankwell.clickhouse import opened
from rankwell.core import ParameterError, RankwellError, Run, Stage
from rankwell.index import MATCHES, Hits, Index, Scoring
from rankwell.match import Asked, filter_mask, filtered, matched, parse_filter, parse_match
from rankwell.match.logic import Mask

logger = logging.getLogger(__name__)
SHOWN = 3


@dataclass(frozen=True)
class BM25(Stage):
    """The k best documents of an index for each query.

    score = sum over terms of  idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / avgdl))

    (Robertson, Walker et al., "Okapi at TREC-3", 1994; `idf` names the variant, see `rankwell.index.IDFS`.) Without
    `weights` the combined text of the indexed fields is searched, with them the sum of each field's BM25. `match` says
    which documents are looked at: "or", "and", "expr:..." or several (`rankwell.match.parse_match`); those that match
    an expression without holding a word of the query have score 0. `filter` is a condition on metadata, `within` a mask
    over the index or document numbers. `query_field` names the wording that is searched for (the first by default).
    An index may be given by its address: a folder, or where it is in ClickHouse (`clickhouse://...`).
    """

    index: Index
    k1: float = 1.2
    b: float = 0.75
    idf: str = "lucene"
    weights: Mapping[str, float] | None = None
    match: str = "or"
    filter: str | None = None
    k: int = 1000
    distinct: bool = False
    query_field: str | None = None
    within: Any = field(default=None, repr=False, compare=False)
    prune: bool = field(default=True, repr=False, compare=False)
    threads: int = field(default=1, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", opened(self.index))
        self.scoring()
        parse_match(self.match)
        if self.k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=self.k)
        if self.threads < 1:
            raise ParameterError("threads", expected="a number from 1", found=self.threads)

    def scoring(self) -> Scoring:
        """The parameters as the index takes them."""
        match = self.match if self.match in MATCHES else "or"
        return Scoring(self.k1, self.b, self.idf, self.weights, match, self.distinct)

    def restriction(self) -> Mask | None:
        """The documents that filter and `within` leave, or None for all."""
        if self.filter is None:
            return None if self.within is None else self.index.mask(self.within)
        mask = filtered(self.filter, self.index)
        return mask if self.within is None else mask & self.index.mask(self.within)

    def check(self) -> None:
        """Refuse fields that the index does not have."""
        self.index.check_fields(self.weights or ())
        parse_match(self.match).check(self.index.fields)
        if self.filter is not None:
            filter_mask(parse_filter(self.filter), self.index.columns)

    def parameters(self) -> dict[str, Any]:
        """What the result depends on: not how many threads worked on it, and not whether they saved work."""
        return {name: value for name, value in super().parameters().items() if name not in ("threads", "prune")}

    def apply(self, run: Run) -> Run:
        """Search for the run's queries; documents that it has already are not looked at."""
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
        """Query by query where each has documents of its own to look at; what scores nothing comes last."""
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
        """Search among these documents; those that hold no word follow, by the tie rule."""
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
