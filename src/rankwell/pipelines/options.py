"""Build a pipeline from options."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from rankwell.collections import Reading
from rankwell.collections.reading import text_lines
from rankwell.core import FormatError, Judgments, ParameterError, Stage
from rankwell.core.parameters import Flag, Number, Text, Whole, chosen, like, param, parameters
from rankwell.index import SearchIndex
from rankwell.models.explanation import Interpolate
from rankwell.models.families import reranker, usual_depth
from rankwell.models.reranking.passages import Passages
from rankwell.models.reranking.reranker import Reranker, RerankSettings
from rankwell.retrieve import BM25, RM3, Dense, Hybrid, SimilarQueries, query_variants
from rankwell.retrieve.fusion import Fusion, ReciprocalRank, WeightedSum

logger = logging.getLogger(__name__)

FUSED = 100  # with fewer documents per ranker the lists hardly overlap
SHOWN = 10  # documents that a search shows

RM3_USUAL = ",".join(str(parameter.default) for parameter in parameters(RM3).values())  # documents, terms, weight


@dataclass(frozen=True)
class RankerOptions:
    """Options of the first stage, for the command, REST, the page and Python."""

    k: int = like(BM25, "k")
    match: str = like(BM25, "match")
    filter: str | None = like(BM25, "filter")
    k1: float = like(BM25, "k1")
    b: float = like(BM25, "b")
    idf: str = like(BM25, "idf")
    weights: str | None = like(BM25, "weights")
    rm3: bool = param(False, "Expand queries by pseudo-relevance feedback (RM3).", Flag())
    rm3_settings: str = param(
        RM3_USUAL, "RM3: feedback documents, feedback terms, weight of the original query.", Text(), example="10,10,0.5"
    )
    dense: bool = param(False, "Rank by embeddings (see rankwell encode) instead of BM25.", Flag())
    hybrid: bool = param(False, "Rank by BM25 and by embeddings, fused by reciprocal rank.", Flag())
    vector_weight: float | None = param(
        None, "Hybrid: add the scores instead, with this share for embeddings (0 to 1).", Number(0, 1), example=0.6
    )
    vectors: str | None = param(None, "Which vectors, where the index has several.", Text())
    hnsw: bool = param(False, "Approximate nearest neighbours (HNSW): faster, may miss a few.", Flag())
    variants: int = param(0, "Also search this many similar queries, made with the embeddings.", Whole())
    query_field: str | None = None
    threads: int | None = None
    own_variants: Mapping[str, Sequence[tuple[str, float]]] | None = None  # the user's: query id -> (text, weight)

    def bm25(self, index: SearchIndex) -> BM25:
        """BM25 with these options."""
        return BM25(index, **{**chosen(self, BM25), "weights": parse_weights(self.weights)}, threads=self._threads)

    def by_words(self, index: SearchIndex, texts: Mapping[str, str]) -> Stage:
        """BM25, or RM3 or similar queries (which are printed) over it."""
        if (self.variants or self.own_variants) and self.rm3:
            raise ParameterError("--variants", expected="one of --variants and --rm3", found="both")
        if self.own_variants:
            return SimilarQueries(self.bm25(index), self.own_variants)
        if self.variants:
            similar = query_variants(index, texts, self.variants, name=self.vectors)
            for qid, variants in similar.items():
                shown = "; ".join(f"{text} ({weight:.2f})" for text, weight in variants)
                logger.warning("%s: also %s", texts[qid], shown or "nothing")
            return SimilarQueries(self.bm25(index), similar)
        if not self.rm3:
            return self.bm25(index)
        documents, terms, weight = parse_rm3(self.rm3_settings)
        return RM3(self.bm25(index), fb_docs=documents, fb_terms=terms, original_query_weight=weight)

    def by_vectors(self, index: SearchIndex) -> Dense:
        """The bi-encoder. OR is how words match: here it means all documents."""
        match = None if self.match == "or" else self.match
        method = "hnsw" if self.hnsw else "exact"
        same = chosen(self, Dense)
        return Dense(index, self.vectors, **{**same, "match": match}, method=method, threads=self._threads)

    def ranker(self, index: SearchIndex, texts: Mapping[str, str]) -> Stage:
        """The ranker by words, by vectors, or by both, for queries with these texts."""
        if self.dense and self.hybrid:
            raise ParameterError("--dense", expected="one of --dense and --hybrid", found="both")
        if self.dense:
            return self.by_vectors(index)
        if self.hybrid:
            deep = replace(self, k=max(self.k, FUSED))
            return Hybrid((deep.by_words(index, texts), deep.by_vectors(index)), self._fusion).top(self.k)
        if self.vector_weight is not None:
            raise ParameterError("--vector-weight", expected="--hybrid with it", found=self.vector_weight)
        return self.by_words(index, texts)

    @property
    def _fusion(self) -> Fusion:
        weight = self.vector_weight
        return ReciprocalRank() if weight is None else WeightedSum((1 - weight, weight))

    @property
    def _threads(self) -> int:
        return self.threads or os.cpu_count() or 1

    @property
    def name(self) -> str:
        """The default run tag."""
        words = "RM3" if self.rm3 else "BM25*" if self.variants or self.own_variants else "BM25"
        return "Dense" if self.dense else f"{words}+Dense" if self.hybrid else words


@dataclass(frozen=True)
class ShownOptions(RankerOptions):
    """The same options for a single search that is shown."""

    k: int = like(BM25, "k", default=SHOWN, help="Number of documents to show.")


@dataclass(frozen=True)
class RerankOptions:
    """Options of the second stage; without `rerank` (a model's name or folder) there is none."""

    rerank: str | None = param(None, "Re-rank the top with this model (see rankwell models list).", Text())
    depth: int | None = like(RerankSettings, "k", flags=())
    document: str | None = like(RerankSettings, "document")
    passages: str | None = like(RerankSettings, "passages")
    aggregate: str | None = like(RerankSettings, "aggregate")
    interpolate: float | None = like(
        Interpolate, "alpha", default=None, help="Mix with the first stage: share of the re-ranker's score (0 to 1)."
    )
    precision: str | None = like(RerankSettings, "precision")
    max_tokens: int | None = like(RerankSettings, "max_tokens")
    relevant: Judgments | str | None = like(RerankSettings, "relevant", repr=False)
    query_field: str | None = None
    threads: int | None = None
    quiet: bool = False

    @property
    def model(self) -> str:
        """The model's name or folder."""
        if self.rerank is None:
            raise ParameterError("rerank", expected="a model's name or folder", found=None)
        return self.rerank

    def deep(self, k: int) -> int:
        """The depth of the first stage where k results are wanted."""
        if self.rerank is None:
            return k
        return max(k, usual_depth(self.model) if self.depth is None else self.depth)

    def reranker(self, index: SearchIndex) -> Reranker:
        """The re-ranker alone: a cross-encoder, or the kind that the model's folder records."""
        passages = None if self.passages is None else Passages.parse(self.passages)
        same = {**chosen(self, RerankSettings), "k": self.depth, "passages": passages}
        return reranker(self.model, RerankSettings(**same, index=index, threads=self.threads, quiet=self.quiet))

    def stage(self, index: SearchIndex) -> Stage:
        """The re-ranker, interpolated with the first stage where asked for."""
        model = self.reranker(index)
        return model if self.interpolate is None else Interpolate(model, self.interpolate)


def parse_variant(text: str) -> tuple[str, float]:
    """Parse `other words=0.5`, or `other words` with a weight of 1."""
    words, _, weight = text.rpartition("=")
    try:
        return (words, float(weight)) if words else (text, 1.0)
    except ValueError:
        return text, 1.0


def read_variants(path: Path | str) -> dict[str, list[tuple[str, float]]]:
    """Read variants of queries: a line has the query's id, a text and perhaps its weight (1), separated by tabs."""
    variants: dict[str, list[tuple[str, float]]] = {}
    for number, line in text_lines(Path(path), Reading()):
        parts = line.rstrip("\r\n").split("\t")
        try:
            qid, text, *weight = parts
            variants.setdefault(qid, []).append((text, float(*weight) if weight else 1.0))
        except (TypeError, ValueError) as error:
            if line.strip():
                expected = "a query id, a text and perhaps a weight, separated by tabs"
                raise FormatError(path, number, expected=expected, found=line) from error
    return variants


def pipeline_of(
    index: SearchIndex,
    first: RankerOptions,
    second: RerankOptions | None = None,
    texts: Mapping[str, str] = MappingProxyType({}),
) -> Stage:
    """Both stages over an index; `texts` are the queries, where the options ask for variants of them."""
    if second is None or second.rerank is None:
        return first.ranker(index, texts)
    ranker = replace(first, k=second.deep(first.k)).ranker(index, texts)
    return (ranker >> second.stage(index)).top(first.k)


def parse_weights(text: str | None) -> dict[str, float] | None:
    """Parse `title=0.25,abstract=0.6` to numbers by field."""
    if text is None:
        return None
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError as error:
        raise ParameterError(
            "--weights", expected="fields with numbers: title=0.25,abstract=0.6", found=text
        ) from error


def parse_rm3(text: str) -> tuple[int, int, float]:
    """Parse `10,10,0.5`: feedback documents, feedback terms, weight of the original query."""
    try:
        documents, terms, weight = text.split(",")
        return int(documents), int(terms), float(weight)
    except ValueError as error:
        expected = "documents, terms and weight of the original query: 10,10,0.5"
        raise ParameterError("--rm3-settings", expected=expected, found=text) from error
