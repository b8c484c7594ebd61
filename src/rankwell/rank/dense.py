"""Ranking by embedding: a bi-encoder's vectors of query and document, compared by cosine."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwell.clickhouse import opened, vectors_of
from rankwell.core import ParameterError, Run, Stage
from rankwell.dense import METHODS, Embeddings
from rankwell.index import Hits, Index
from rankwell.match import Asked, Match, filter_mask, filtered, matched, parse_filter, parse_match
from rankwell.match.logic import Mask
from rankwell.rank.expansion import query_texts

logger = logging.getLogger(__name__)
SHOWN = 3


@dataclass(frozen=True)
class Dense(Stage):
    """The k documents of an index whose vectors have the largest cosine with the query's.

    `name` says which vectors, where the index has several (`rankwell.dense.embed` makes them). Without `match` every
    document that has a vector is looked at; with it only those that match ("and", "or & expr:..."). `filter` is a
    condition on metadata. `method` is "exact" or "hnsw" (`rankwell.dense.Embeddings.search`), `width` how many
    candidates the latter looks at. `query_field` names the wording that is encoded (the first by default).
    """

    index: Index
    name: str | None = None
    k: int = 1000
    match: str | Match | None = None
    filter: str | None = None
    method: str = "exact"
    width: int | None = None
    query_field: str | None = None
    threads: int = field(default=1, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", opened(self.index))
        if self.match is not None:
            parse_match(self.match)
        if self.k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=self.k)
        if self.method not in METHODS:
            raise ParameterError("method", expected=" or ".join(METHODS), found=self.method)

    def check(self) -> None:
        """Refuse an index without vectors, vectors of a model that is not here, and fields that are not there."""
        self.embeddings.encoder()
        if self.match is not None:
            parse_match(self.match).check(self.index.fields)
        if self.filter is not None:
            filter_mask(parse_filter(self.filter), self.index.columns)

    @property
    def embeddings(self) -> Embeddings:
        """The vectors."""
        return vectors_of(self.index, self.name)

    def parameters(self) -> dict[str, Any]:
        """What the result depends on: the vectors as they are now too, and not how many threads worked on it."""
        settings = {name: value for name, value in super().parameters().items() if name != "threads"}
        return settings | {"vectors": self.embeddings.fingerprint(), "match": repr(self.match)}

    def apply(self, run: Run) -> Run:
        """Encode the run's queries and search; documents that it has already are not looked at."""
        texts = query_texts(run, self.query_field)
        asked = {qid: text for qid, text in texts.items() if text.strip()}
        if len(asked) < len(texts):
            empty = [qid for qid in texts if qid not in asked]
            names = ", ".join(empty[:SHOWN]) + (", ..." if len(empty) > SHOWN else "")
            logger.warning("%d queries have no text and find nothing: %s", len(empty), names)
        hits = self._search(list(asked.values())) if asked else None
        sizes = dict(zip(asked, np.diff(hits.offsets).tolist(), strict=True)) if hits else {}
        return Run.from_columns(
            run.qids,
            np.cumsum([0, *(sizes.get(qid, 0) for qid in run.qids)]),
            hits.docnos if hits else run.docnos[:0],
            hits.scores if hits else run.scores[:0],
            tag="Dense",
            queries=run.queries,
            documents=self.index.documents,
        )

    def _search(self, texts: list[str]) -> Hits:
        """All at once, or one by one where each has documents of its own to look at."""
        vectors = self.embeddings.encoder().encode_queries(texts)
        given = None if self.filter is None else filtered(self.filter, self.index)
        if self.match is None:
            return self._near(vectors, given)
        parts = []
        for text, vector in zip(texts, vectors, strict=True):
            mask = matched(self.match, Asked(text), self.index)
            parts.append(self._near(vector, mask if given is None else mask & given))
        sizes = np.cumsum([0, *(len(part.documents) for part in parts)])
        documents = np.concatenate([part.documents for part in parts])
        return Hits(sizes, documents, np.concatenate([part.scores for part in parts]), self.index)

    def _near(self, vectors: Any, within: Mask | None) -> Hits:
        return self.embeddings.search(
            vectors, self.k, within=within, method=self.method, width=self.width, threads=self.threads
        )
