"""Similar queries, made by swapping a word for one of like meaning: what expansion by `SimilarQueries` is fed with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rankwell.clickhouse import embedded_only
from rankwell.core import ParameterError
from rankwell.dense import Embeddings, remembered, vocabulary_of
from rankwell.dense.quantise import unit
from rankwell.index import Index

NEIGHBOURS = 10  # words of the vocabulary that are looked at for each word of a query

Variants = dict[str, list[tuple[str, float]]]


class Swap(NamedTuple):
    """A query with one word swapped, and how near the two words are."""

    qid: str
    text: str
    nearness: float


def query_variants(index: Index, queries: Mapping[str, str], n: int = 5, *, name: str | None = None) -> Variants:
    """For each query (text by id) up to n similar ones with their weights, the most similar first.

    A variant is the query with one word swapped for one of the nearest in the collection's vocabulary; of all such
    swaps the n of the nearest words are taken. A variant's weight is the cosine of its vector and the query's. All
    vectors come from the bi-encoder of the index's own (`name` says which, where it has several). To be used as in
    `SimilarQueries(BM25(index), query_variants(index, texts))`.
    """
    if n < 1:
        raise ParameterError("n", expected="a number of variants, at least 1", found=n)
    embedded_only(index, "similar queries (--variants)", "expand queries with RM3 (--rm3) there")
    embeddings = remembered(index, name)
    variants: dict[str, list[str]] = {qid: [] for qid in queries}
    for swap in sorted(_swaps(embeddings, queries), key=lambda swap: (-swap.nearness, swap.text)):
        own = variants[swap.qid]
        if len(own) < n and swap.text not in own:
            own.append(swap.text)
    return _weighted(embeddings, queries, variants)


def _swaps(embeddings: Embeddings, queries: Mapping[str, str]) -> Iterator[Swap]:
    """Every word of every query that says something, swapped for each of its neighbours."""
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
            if vocabulary.terms[place] not in analyzer(text):  # nor an inflection of what it would replace
                yield Swap(qid, text[:start] + vocabulary.words[place] + text[end:], cosine)


def _weighted(embeddings: Embeddings, queries: Mapping[str, str], variants: Mapping[str, Sequence[str]]) -> Variants:
    """The variants with their similarities to the query."""
    texts = list(dict.fromkeys((*queries.values(), *(text for own in variants.values() for text in own))))
    if not texts:
        return {}
    vectors = dict(zip(texts, unit(embeddings.encoder().encode_queries(texts)), strict=True))
    found: Variants = {}
    for qid, own in variants.items():
        weights = [(text, float(np.dot(vectors[text], vectors[queries[qid]]))) for text in own]
        found[qid] = sorted((pair for pair in weights if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))
    return found
