"""Ranking by embedding, and together with BM25."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest

from rankwell import Document
from rankwell.core import ParameterError, Queries, Query, RankwellError
from rankwell.index import Index, IndexWriter
from rankwell.models.base import load_text_encoder
from rankwell.retrieve import BM25, Dense, Hybrid, ReciprocalRank, WeightedSum
from rankwell.vectors import embed, embeddings_of

PAPERS = {
    "p1": ("Masks and droplets", "Face coverings stop large droplets, and some small ones.", 2020),
    "p2": ("Hand washing", "Soap destroys the envelope of the virus.", 2021),
    "p3": ("Opening windows", "Fresh air carries particles away.", 2022),
    "p4": ("The price of bread", "Wheat became more expensive after the dry summer.", 2022),
    "p5": ("Feeding sparrows", "Small birds eat seeds and insects.", 2021),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Path:
    """A small index with the vectors of a real model."""
    folder = tmp_path_factory.mktemp("dense") / "index"
    with IndexWriter(folder, metadata=["year"]) as writer:
        for docno, (title, text, year) in PAPERS.items():
            writer.add(Document(docno, {"title": title, "text": text}, {"year": year}))
    embed(Index.open(folder), load_text_encoder(str(models / "minilm-l6")))
    return folder


@pytest.fixture
def index(folder: Path) -> Index:
    return Index.open(folder)


def test_documents_are_found_by_meaning(index: Index) -> None:
    run = Dense(index, k=2)({"1": "cost of cereals", "2": "ventilation of rooms", "3": "avian diet"})
    assert [run[qid].docnos[0] for qid in run] == ["p4", "p3", "p5"]
    assert run.tag == "Dense"
    assert run.documents is not None
    assert run.documents["p4"].fields["title"] == "The price of bread"


def test_scores_are_cosines(index: Index, models: Path) -> None:
    encoder = load_text_encoder(str(models / "minilm-l6"))
    (query,) = encoder.encode_queries(["avian diet"])
    texts = {docno: f"{title} {text}" for docno, (title, text, _) in PAPERS.items()}
    vectors = dict(zip(texts, encoder.encode(list(texts.values())), strict=True))
    for docno, score in Dense(index)("avian diet")["1"]:
        assert score == pytest.approx(float(vectors[docno] @ query), abs=1e-4)


def test_vectors_of_shortened_texts_are_searched_with_their_own_settings(
    folder: Path, models: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("vectors"))
    index = Index.open(tmp_path / "copy")
    embed(index, load_text_encoder(str(models / "minilm-l6"), max_tokens=8, precision="int8"))
    assert next(iter(Dense(Index.open(index.path))("avian diet")["1"]))[0] == "p5"


def test_matching_and_filters_restrict_the_documents(index: Index) -> None:
    assert sorted(Dense(index, match="or")("small virus")["1"].docnos) == ["p1", "p2", "p5"]
    assert sorted(Dense(index, filter="year>=2022")("small virus")["1"].docnos) == ["p3", "p4"]
    assert sorted(Dense(index, match="or", filter="year=2021")("small virus")["1"].docnos) == ["p2", "p5"]
    assert len(Dense(index, match="ann:2")("small virus")["1"]) == 2


def test_the_graph_finds_the_same(index: Index) -> None:
    queries = ["avian diet", "ventilation"]
    assert Dense(index, k=3, method="hnsw")(queries) == Dense(index, k=3)(queries)


def test_bm25_looks_at_the_nearest_too(index: Index) -> None:
    found = BM25(index, match="and + ann:1")("bird food")["1"]
    assert found.docnos.tolist() == ["p5"]


def test_a_hybrid_ranks_by_both(index: Index) -> None:
    rankers = (BM25(index), Dense(index))
    for fusion in (ReciprocalRank(), WeightedSum((0.5, 0.5))):
        run = Hybrid(rankers, fusion)({"1": "small particles in the air"})
        assert run == fusion(*(ranker({"1": "small particles in the air"}) for ranker in rankers))
        assert run["1"].docnos[0] == "p3"
        assert len(run) == 5


def test_a_query_without_text_finds_nothing_and_is_said(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        run = Dense(index, k=1)({"1": "avian diet", "2": " "})
    assert [len(run[qid]) for qid in ("1", "2")] == [1, 0]
    assert "1 queries have no text and find nothing: 2" in caplog.text
    assert len(Dense(index)("")) == 0


def test_the_wording_can_be_chosen(index: Index) -> None:
    queries = Queries([Query("1", {"query": "birds", "question": "what does bread cost?"})])
    assert Dense(index, k=1, query_field="question")(queries)["1"].docnos.tolist() == ["p4"]


def test_a_configuration_names_its_vectors(folder: Path, tmp_path: Path, models: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    index = Index.open(tmp_path / "copy")
    one = Dense(index, k=1)
    assert one.fingerprint() == Dense(index, k=1, threads=2).fingerprint()
    assert one.fingerprint() != Dense(index, k=2).fingerprint()
    embed(index, load_text_encoder(str(models / "minilm-l6")), field="title", name="titles")
    names = [there.name for there in embeddings_of(index)]
    assert Dense(index, names[0], k=1).fingerprint() != Dense(index, "titles", k=1).fingerprint()


@pytest.mark.parametrize("wrong", [{"k": 0}, {"method": "lsh"}, {"match": "xor"}])
def test_what_cannot_be_is_refused(index: Index, wrong) -> None:
    with pytest.raises(ParameterError):
        Dense(index, **wrong)


def test_an_index_without_vectors_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with IndexWriter(tmp_path / "bare") as writer:
        writer.add(Document("a", {"text": "x"}))
    with pytest.raises(RankwellError, match="has no vectors"):
        Dense(Index.open(tmp_path / "bare")).check()
