"""Dense retrieval: a bi-encoder's vectors of query and document, compared by cosine similarity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwell.core import Run, Stage
from rankwell.core.parameters import Text, Whole, check_parameters, like, param
from rankwell.index import Hits, Mask, SearchIndex, as_index
from rankwell.retrieve import candidates
from rankwell.retrieve.bm25 import BM25
from rankwell.retrieve.matching import Asked, Match
from rankwell.vectors import METHODS, Vectors, vectors_of


@dataclass(frozen=True)
class Dense(Stage):
    """The k documents of an index whose vectors are most similar to the query's, by cosine.

    `name` selects the vectors, where the index has several (`rankwell.vectors.embed` makes them). Without `match` all
    documents with a vector are considered; with it only those that match ("and", "or & expr:..."). `filter` is a
    condition on metadata. `method` is "exact" or "hnsw" (`rankwell.vectors.Embeddings.search`), `width` the number of
    candidates of the latter. `query_field` names the wording to encode (the first by default).

    >>> embed(index, "minilm-l6")
    >>> Dense(index)("contagion")
    """

    index: SearchIndex
    name: str | None = None
    k: int = like(BM25, "k")
    match: str | Match | None = like(BM25, "match", default=None)
    filter: str | None = like(BM25, "filter")
    method: str = param("exact", "Search all vectors (exact), or a graph of near neighbours (hnsw).", Text(METHODS))
    width: int | None = param(None, "Number of candidates that the graph search looks at.", Whole(1))
    query_field: str | None = like(BM25, "query_field")
    threads: int = field(default=1, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", as_index(self.index))
        if self.match is not None:
            candidates.parse_match(self.match)
        check_parameters(self, but=["match"])

    def check(self) -> None:
        """Refuse an index without vectors, vectors of a missing model, and unknown fields."""
        self.embeddings.encoder()
        candidates.check(self.match, self.filter, self.index)

    @property
    def embeddings(self) -> Vectors:
        """The vectors to search."""
        return vectors_of(self.index, self.name)

    def parameters(self) -> dict[str, Any]:
        """The parameters that affect the result, and the vectors' fingerprint, without threads."""
        settings = {name: value for name, value in super().parameters().items() if name != "threads"}
        return settings | {"vectors": self.embeddings.fingerprint(), "match": repr(self.match)}

    def apply(self, run: Run) -> Run:
        """Encode the run's queries and search; its documents are ignored."""
        texts = candidates.query_texts(run, self.query_field)
        asked = {qid: text for qid, text in texts.items() if text.strip()}
        candidates.warn_of_empty([qid for qid in texts if qid not in asked], "text")
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
        """Search all queries at once, or one by one where each has its own matching documents."""
        vectors = self.embeddings.encoder().encode_queries(texts)
        given = None if self.filter is None else candidates.filtered(self.filter, self.index)
        if self.match is None:
            return self._near(vectors, given)
        parts = []
        for text, vector in zip(texts, vectors, strict=True):
            mask = candidates.matched(self.match, Asked(text), self.index)
            parts.append(self._near(vector, mask if given is None else mask & given))
        return candidates.join_hits(parts, self.index)

    def _near(self, vectors: Any, within: Mask | None) -> Hits:
        return self.embeddings.search(
            vectors, self.k, within=within, method=self.method, width=self.width, threads=self.threads
        )
