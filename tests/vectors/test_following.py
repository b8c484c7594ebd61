"""Vectors follow their index: additions, changes, deletions and merges."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pytest
from hashing_encoder import HashingEncoder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankwell import Document, RankwellError
from rankwell.core import ParameterError
from rankwell.index import Index, IndexWriter
from rankwell.vectors import Embeddings, embed, embeddings_of, refresh
from rankwell.vectors.embedding import MOST_CHUNKS
from rankwell.vectors.quantise import unit

Build = Callable[..., Index]


def found(embeddings: Embeddings, text: str, k: int = 10) -> list[str]:
    encoder = HashingEncoder()
    return embeddings.search(encoder.encode_queries([text]), k)[0].docnos.tolist()


def test_a_second_time_only_what_is_new_or_changed_is_encoded(build: Build, encoder: HashingEncoder) -> None:
    embed(build({"a": "red apple", "b": "blue sky"}), encoder)
    assert sorted(encoder.encoded) == ["blue sky", "red apple"]
    encoder.encoded.clear()
    index = build({"b": "green sky", "c": "red brick"}, delete=["a"])
    embeddings = embed(index, encoder)
    assert sorted(encoder.encoded) == ["green sky", "red brick"]
    assert sorted(found(embeddings, "red")) == ["b", "c"]


def test_documents_without_a_vector_are_counted_and_said(build: Build, encoder: HashingEncoder, caplog) -> None:
    index = build({"a": "red apple"})
    embed(index, encoder)
    index = build({"b": "blue sky"})
    with caplog.at_level(logging.WARNING):
        embeddings = Embeddings.open(index)
    assert (embeddings.count, embeddings.stale) == (1, 1)
    assert (
        f"1 of 2 documents have no vector yet and are not found by it: run `rankwell encode {index.path}" in caplog.text
    )
    assert found(embeddings, "sky") == ["a"]


def test_a_deleted_or_changed_document_is_not_found_by_its_old_vector(build: Build, encoder: HashingEncoder) -> None:
    embed(build({"a": "red apple", "b": "blue sky", "c": "grey rock"}), encoder)
    embeddings = Embeddings.open(build({"b": "red sea"}, delete=["a"]))
    assert found(embeddings, "apple") == ["c"]
    assert embeddings.stale == 1


def test_merging_an_index_needs_no_new_encoding(build: Build, encoder: HashingEncoder) -> None:
    build({"a": "red apple", "b": "blue sky"})
    index = build({"c": "grey rock"}, delete=["b"])
    embed(index, encoder)
    encoder.encoded.clear()
    merged = index.merge()
    merged.verify()
    embeddings = Embeddings.open(merged)
    assert embeddings.stale == 0
    assert sorted(found(embeddings, "apple")) == ["a", "c"]
    embed(merged, encoder)
    assert encoder.encoded == []


def test_a_document_that_comes_back_needs_no_new_encoding(build: Build, encoder: HashingEncoder) -> None:
    embed(build({"a": "red apple", "b": "blue sky"}), encoder)
    build({}, delete=["a"])
    index = build({"a": "red apple"})
    assert Embeddings.open(index).stale == 0


def test_a_document_without_text_has_no_vector_and_lacks_none(build: Build, encoder: HashingEncoder) -> None:
    index = build({"a": {"title": "red apple"}, "b": {"text": "blue sky"}})
    embeddings = embed(index, encoder, field="title")
    assert (embeddings.count, embeddings.stale) == (1, 0)
    assert found(embeddings, "sky") == ["a"]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, ["blue sky above", "red apple"]),
        ({"field": "title"}, ["blue sky", "red"]),
        ({"document": "{title}: {text}"}, ["blue sky: above", "red: apple"]),
        ({"document": "{text} {title}"}, ["above blue sky", "apple red"]),
    ],
)
def test_what_is_encoded_is_a_field_a_template_or_everything(build: Build, how, expected: list[str]) -> None:
    encoder = HashingEncoder()
    index = build({"a": {"title": "red", "text": "apple"}, "b": {"title": "blue sky", "text": "above"}})
    embed(index, encoder, **how)
    assert sorted(encoder.encoded) == expected


def test_a_missing_field_is_left_out_of_a_template(build: Build, encoder: HashingEncoder) -> None:
    embed(build({"a": {"title": "red"}, "b": {"text": "sky"}}), encoder, document="{title} {text}")
    assert sorted(encoder.encoded) == ["red", "sky"]


@pytest.mark.parametrize("document", ["title", "{}", "{title", "{0} {title}", ""])
def test_a_wrong_template_is_refused(build: Build, encoder: HashingEncoder, document: str) -> None:
    with pytest.raises(ParameterError, match="document: expected"):
        embed(build({"a": {"title": "red"}}), encoder, document=document)


def test_an_unknown_field_is_refused_with_the_known_ones(build: Build, encoder: HashingEncoder) -> None:
    with pytest.raises(ParameterError, match=r'document: expected fields of the documents \(text\), found "\{titel\}"'):
        embed(build({"a": "red"}), encoder, field="titel")


def test_an_index_may_have_several_vectors_which_are_named(build: Build, encoder: HashingEncoder) -> None:
    index = build({"a": {"title": "red", "text": "apple"}})
    embed(index, encoder)
    embed(index, encoder, field="title")
    assert [there.name for there in embeddings_of(index)] == ["hashing-mean", "hashing-mean-title"]
    with pytest.raises(ParameterError, match="expected one of hashing-mean, hashing-mean-title, found none of them"):
        Embeddings.open(index)
    assert Embeddings.open(index, "hashing-mean-title").document == "{title}"
    with pytest.raises(ParameterError, match='expected one of hashing-mean, hashing-mean-title, found "others"'):
        Embeddings.open(index, "others")


def test_an_index_without_vectors_says_how_to_make_them(build: Build) -> None:
    index = build({"a": "red"})
    with pytest.raises(RankwellError) as caught:
        Embeddings.open(index)
    hint = f"`rankwell encode {index.path} --model bge-small-en`"
    assert str(caught.value) == f"{index.path} has no vectors: encode it first with {hint}"
    assert embeddings_of(index) == []


def test_another_model_under_the_same_name_is_refused(build: Build, encoder: HashingEncoder) -> None:
    index = build({"a": "red"})
    embed(index, encoder)
    for other in (HashingEncoder(seed="new weights"), HashingEncoder(dimensions=30)):
        with pytest.raises(RankwellError, match="expected the model that the vectors were made with"):
            embed(index, other)
    with pytest.raises(RankwellError, match=r"expected document all fields as before, found \{text\}: choose another"):
        embed(index, encoder, field="text", name="hashing-mean")
    with pytest.raises(RankwellError, match="expected storage int16 as before, found int8"):
        embed(index, encoder, storage="int8")


def test_many_small_additions_become_one_file(build: Build, encoder: HashingEncoder) -> None:
    for number in range(MOST_CHUNKS + 1):
        index = build({f"d{number}": f"text number{number}"})
        embeddings = embed(index, encoder)
    assert len(list(embeddings.folder.glob("*.vectors"))) == 1
    assert sorted(found(embeddings, "number3", 20)) == [f"d{number}" for number in range(MOST_CHUNKS + 1)]
    assert found(embeddings, "number3")[0] == "d3"
    assert len(encoder.encoded) == MOST_CHUNKS + 1


def test_vectors_of_documents_that_are_gone_are_cleared_away(build: Build, encoder: HashingEncoder) -> None:
    embed(build({f"d{number}": f"text number{number}" for number in range(20)}), encoder)
    index = build({}, delete=[f"d{number}" for number in range(15)])
    embeddings = embed(index, encoder)
    assert embeddings._rows.count == embeddings.count == 5
    assert found(embeddings, "number17")[0] == "d17"


def test_a_reader_keeps_what_it_opened(build: Build, encoder: HashingEncoder) -> None:
    before = embed(build({"a": "red apple", "b": "blue sky"}), encoder)
    embed(build({"a": "grey rock"}, delete=["b"]), encoder)
    assert found(before, "apple") == ["a", "b"]


def test_refreshing_uses_the_model_of_before(build: Build, encoder: HashingEncoder, monkeypatch) -> None:
    monkeypatch.setattr("rankwell.models.base.load_text_encoder", lambda model, **settings: encoder)  # noqa: ARG005
    embed(build({"a": {"title": "red"}}), encoder, field="title")
    index = build({"b": {"title": "blue"}})
    encoder.encoded.clear()
    assert refresh(index).count == 2
    assert encoder.encoded == ["blue"]


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "delete", "merge", "encode"]), st.integers(0, 5), st.integers(0, 3)), max_size=12
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_whatever_happens_to_the_index_its_vectors_are_those_of_its_texts(tmp_path_factory, steps) -> None:
    folder, encoder = tmp_path_factory.mktemp("index") / "index", HashingEncoder()
    with IndexWriter(folder) as writer:
        writer.add(Document("d0", {"text": "word0"}))
    for what, number, word in steps:
        if what == "encode":
            embed(Index.open(folder), encoder)
        elif what == "merge":
            Index.open(folder).merge()
        else:
            with IndexWriter(folder) as writer:
                if what == "add":
                    writer.add(Document(f"d{number}", {"text": f"word{word}"}))
                else:
                    writer.delete(f"d{number}")
    index = Index.open(folder)
    embeddings = embed(index, encoder)
    assert (embeddings.count, embeddings.stale) == (len(index), 0)
    numbers = np.flatnonzero(index.live)
    expected = unit(encoder.encode([index.documents[docno].text() for docno in index.docnos(numbers).tolist()]))
    assert np.abs(embeddings.vectors(numbers) - expected).max(initial=0) < 1e-4
