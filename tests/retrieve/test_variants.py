"""Queries with a word swapped for one of like meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwell import Document
from rankwell.core import ParameterError
from rankwell.index import Index, IndexWriter
from rankwell.models.base import load_text_encoder
from rankwell.retrieve import BM25, SimilarQueries, query_variants
from rankwell.vectors import embed, remembered, vocabulary_of
from rankwell.vectors.vocabulary import frequent_terms, surfaces

TEXTS = {
    "d1": "Physicians treat illnesses. A physician is trained for years.",
    "d2": "Automobiles need fuel; an automobile without petrol stands still.",
    "d3": "Infections spread in winter, and infectious people should stay at home.",
    "d4": "The hospitals were full of patients.",
    "d5": "Bread, butter and cheese for breakfast.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Index:
    """A small index with the vectors of a real model."""
    folder = tmp_path_factory.mktemp("variants") / "index"
    with IndexWriter(folder) as writer:
        for docno, text in TEXTS.items():
            writer.add(Document(docno, {"text": text}))
    index = Index.open(folder)
    embed(index, load_text_encoder(str(models / "minilm-l6")), graph=False)
    return index


def test_a_word_is_swapped_for_its_nearest_in_the_collection(index: Index) -> None:
    variants = query_variants(index, {"1": "Which doctor should I see?", "2": "car repair"}, n=2)
    assert "Which physicians should I see?" in [text for text, _ in variants["1"]]
    assert variants["2"][0][0] in {"automobiles repair", "automobile repair"}


def test_weights_are_similarities_to_the_query_the_largest_first(index: Index, models: Path) -> None:
    encoder = load_text_encoder(str(models / "minilm-l6"))
    (variants,) = query_variants(index, {"1": "car repair"}, n=4).values()
    weights = [weight for _, weight in variants]
    assert len(variants) == 4
    assert weights == sorted(weights, reverse=True)
    for text, weight in variants:
        one, other = encoder.encode_queries([text, "car repair"])
        assert weight == pytest.approx(float(one @ other), abs=1e-4)


def test_expansion_finds_what_the_query_alone_does_not(index: Index) -> None:
    queries = {"1": "car repair"}
    plain = BM25(index)
    assert len(plain(queries)) == 0
    assert SimilarQueries(plain, query_variants(index, queries))(queries)["1"].docnos[0] == "d2"


def test_a_query_without_words_has_no_variants(index: Index) -> None:
    assert query_variants(index, {"1": "", "2": "of the"}) == {"1": [], "2": []}
    assert query_variants(index, {}) == {}
    with pytest.raises(ParameterError, match="n: expected a number of variants"):
        query_variants(index, {"1": "car"}, n=0)


def test_a_term_is_encoded_by_a_word_that_documents_have(index: Index) -> None:
    terms = frequent_terms(index)
    words = surfaces(index, terms)
    assert list(words) == terms
    assert words["physician"] in {"physicians", "physician"}
    assert {words[term] for term in terms} >= {"bread", "butter", "cheese", "hospitals", "patients"}
    assert not {"the", "and"} & set(terms)


def test_the_vocabulary_is_kept_and_follows_the_index(index: Index) -> None:
    embeddings = remembered(index)
    first = vocabulary_of(embeddings)
    assert (embeddings.folder / "vocabulary").is_file()
    vocabulary_of.cache_clear()
    again = vocabulary_of(embeddings)
    assert list(again.words) == list(first.words)
    assert (again.vectors == first.vectors).all()
    (embeddings.folder / "vocabulary").write_bytes(b"damaged")
    vocabulary_of.cache_clear()
    assert list(vocabulary_of(embeddings).words) == list(first.words)
