"""The pipeline that options ask for."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rankwell.core import Judgments, ParameterError, Stage
from rankwell.index import Index
from rankwell.rank import BM25, RM3, Dense, Hybrid, SimilarQueries, query_variants

if TYPE_CHECKING:
    from rankwell.rerank import Reranker

logger = logging.getLogger(__name__)

FUSED = 100  # fewer documents of each ranker would leave too little to agree on


@dataclass(frozen=True)
class RankerOptions:
    """The first stage of `search` and `rank`."""

    k: int
    match: str = "or"
    filter: str | None = None
    k1: float = 1.2
    b: float = 0.75
    idf: str = "lucene"
    weights: str | None = None
    rm3: bool = False
    rm3_settings: str = "10,10,0.5"
    query_field: str | None = None
    threads: int | None = None
    dense: bool = False
    hybrid: bool = False
    vectors: str | None = None
    hnsw: bool = False
    variants: int = 0

    def bm25(self, index: Index) -> BM25:
        """BM25 with these options."""
        return BM25(
            index,
            k1=self.k1,
            b=self.b,
            idf=self.idf,
            weights=parse_weights(self.weights),
            match=self.match,
            filter=self.filter,
            k=self.k,
            query_field=self.query_field,
            threads=self.threads or os.cpu_count() or 1,
        )

    def by_words(self, index: Index, texts: Mapping[str, str]) -> Stage:
        """BM25, or over it RM3 or similar queries, which are shown."""
        if self.variants and self.rm3:
            raise ParameterError("--variants", expected="one of --variants and --rm3", found="both")
        if self.variants:
            similar = query_variants(index, texts, self.variants, name=self.vectors)
            for qid, variants in similar.items():
                shown = "; ".join(f"{text} ({weight:.2f})" for text, weight in variants)
                logger.warning("%s: also %s", texts[qid], shown or "nothing")
            return SimilarQueries(self.bm25(index), similar)
        if not self.rm3:
            return self.bm25(index)
        documents, terms, weight = _rm3(self.rm3_settings)
        return RM3(self.bm25(index), fb_docs=documents, fb_terms=terms, original_query_weight=weight)

    def by_vectors(self, index: Index) -> Dense:
        """The bi-encoder. OR is how words match: here it stands for every document."""
        return Dense(
            index,
            self.vectors,
            k=self.k,
            match=None if self.match == "or" else self.match,
            filter=self.filter,
            method="hnsw" if self.hnsw else "exact",
            query_field=self.query_field,
            threads=self.threads or os.cpu_count() or 1,
        )

    def ranker(self, index: Index, texts: Mapping[str, str]) -> Stage:
        """By words, by vectors, or by both, for queries with these texts."""
        if self.dense and self.hybrid:
            raise ParameterError("--dense", expected="one of --dense and --hybrid", found="both")
        if self.dense:
            return self.by_vectors(index)
        if self.hybrid:
            deep = replace(self, k=max(self.k, FUSED))
            return Hybrid((deep.by_words(index, texts), deep.by_vectors(index))).top(self.k)
        return self.by_words(index, texts)

    @property
    def name(self) -> str:
        """What the run is called where nobody says."""
        words = "RM3" if self.rm3 else "BM25*" if self.variants else "BM25"
        return "Dense" if self.dense else f"{words}+Dense" if self.hybrid else words


@dataclass(frozen=True)
class RerankOptions:
    """The second stage of `search` and `rank`."""

    model: str
    depth: int | None = None  # as deep as the model usually goes
    document: str | None = None
    passages: str | None = None
    aggregate: str | None = None
    interpolate: float | None = None
    precision: str | None = None
    query_field: str | None = None
    threads: int | None = None
    quiet: bool = False
    relevant: Judgments | str | None = field(default=None, repr=False)

    def deep(self, k: int) -> int:
        """How many documents the first stage has to find where k are wanted in the end."""
        from rankwell.rerank import usual_depth

        return max(k, usual_depth(self.model) if self.depth is None else self.depth)

    def reranker(self, index: Index) -> Reranker:
        """The re-ranker alone: a cross-encoder, or what the model's folder says it is."""
        from rankwell.rerank import Passages, RerankWishes, reranker

        wishes = RerankWishes(
            k=self.depth,
            document=self.document,
            query_field=self.query_field,
            passages=None if self.passages is None else Passages.parse(self.passages),
            aggregate=self.aggregate,
            precision=self.precision,
            relevant=self.relevant,
            index=index,
            threads=self.threads,
            quiet=self.quiet,
        )
        return reranker(self.model, wishes)

    def stage(self, index: Index) -> Stage:
        """The re-ranker, mixed with the first stage where that is asked for."""
        from rankwell.rerank import Interpolate

        reranker = self.reranker(index)
        return reranker if self.interpolate is None else Interpolate(reranker, self.interpolate)


def parse_weights(text: str | None) -> dict[str, float] | None:
    """`title=0.25,abstract=0.6` as numbers by field."""
    if text is None:
        return None
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError as error:
        raise ParameterError(
            "--weights", expected="fields with numbers: title=0.25,abstract=0.6", found=text
        ) from error


def _rm3(text: str) -> tuple[int, int, float]:
    try:
        documents, terms, weight = text.split(",")
        return int(documents), int(terms), float(weight)
    except ValueError as error:
        expected = "documents, terms and weight of the original query: 10,10,0.5"
        raise ParameterError("--rm3-settings", expected=expected, found=text) from error
