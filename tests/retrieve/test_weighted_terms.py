"""Expansion over BM25: weighted terms against the index, and what it is worth on real collections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankwell.analysis import Analyzer
from rankwell.collections import open_collection
from rankwell.core import Document, Queries, Query
from rankwell.evaluation import evaluate
from rankwell.index import Index, IndexWriter
from rankwell.retrieve import BM25, RM3, SimilarQueries, WeightedSum, filtered

DOCUMENTS = (
    Document("fox", {"title": "quick fox", "text": "brown fox den"}, {"year": 2019}),
    Document("dog", {"title": "lazy dog", "text": "dog fox"}, {"year": 2020}),
    Document("cat", {"title": "lazy cat"}, {"year": 2021}),
    Document("cub", {"title": "cub", "text": "den den brown"}, {"year": 2022}),
    Document("cow", {"title": "cow", "text": "grass"}, {"year": 2022}),
)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    with IndexWriter(tmp_path, Analyzer(stopwords="none", stemmer=False), metadata=["year"]) as writer:
        writer.add_all(DOCUMENTS)
    return Index.open(tmp_path)


@pytest.mark.parametrize("weights", [None, {"title": 0.25, "text": 0.75}])
def test_similar_queries_add_up_exactly(index: Index, weights: dict[str, float] | None) -> None:
    ranker = BM25(index, weights=weights)
    expanded = SimilarQueries(ranker, {"1": [("lazy dog", 0.5), ("brown den den", 0.25)]})("quick fox")
    lists = [ranker("quick fox"), ranker("lazy dog"), ranker("brown den den")]
    summed = WeightedSum((1, 0.5, 0.25), normalise="none")(*lists)
    assert expanded["1"].docnos.tolist() == summed["1"].docnos.tolist()
    assert expanded["1"].scores == pytest.approx(summed["1"].scores, rel=1e-6)


def test_no_variants_change_nothing(index: Index) -> None:
    assert SimilarQueries(BM25(index), {})("brown fox fox") == BM25(index)("brown fox fox")


def test_feedback_finds_what_the_query_does_not_say(index: Index) -> None:
    assert "cub" not in BM25(index)("fox")["1"].docnos.tolist()
    assert "cub" in RM3(BM25(index))("fox")["1"].docnos.tolist()


def test_feedback_comes_from_the_searched_fields_only(index: Index) -> None:
    found = RM3(BM25(index, weights={"title": 1.0}))("fox")["1"].docnos.tolist()
    assert found == ["fox"]  # its title says nothing of dens


def test_the_words_of_an_and_query_must_still_be_there(index: Index) -> None:
    found = RM3(BM25(index, match="and"))("fox den")["1"].docnos.tolist()
    assert found == ["fox"]
    both = RM3(BM25(index, match="and"))({"1": "fox", "2": "lazy", "3": "unicorn"})
    assert [sorted(both[qid].docnos.tolist()) for qid in both] == [["dog", "fox"], ["cat", "dog"], []]


@pytest.mark.parametrize("match", ["or", "and"])
@pytest.mark.parametrize("as_numbers", [False, True])
def test_expansion_stays_within_the_filter(index: Index, match: str, as_numbers: bool) -> None:
    mask = filtered("year>=2020", index)
    within = np.flatnonzero(mask) if as_numbers else mask
    found = RM3(BM25(index, match=match, within=within))("fox")["1"].docnos.tolist()
    assert "dog" in found
    assert "fox" not in found


def test_the_wording_is_the_one_that_bm25_searches_for(index: Index) -> None:
    queries = Queries([Query("1", {"query": "cow", "question": "fox"})])
    expanded = SimilarQueries(BM25(index, query_field="question"), {})(queries)
    assert sorted(expanded["1"].docnos.tolist()) == ["dog", "fox"]


def test_a_pipeline_can_give_the_feedback(index: Index) -> None:
    ranker = BM25(index)
    assert (ranker.top(1) >> RM3(ranker))("fox") == RM3(ranker, fb_docs=1)("fox")


def test_feedback_raises_average_precision_where_it_should(data: Path, tmp_path: Path) -> None:
    raised = []
    for name in ("cranfield", "cisi", "med"):
        collection = open_collection(data / name)
        with IndexWriter(tmp_path / name) as writer:
            writer.add_all(collection.documents())
        judgments = collection.judgments("test")
        queries = collection.queries().only(judgments)
        ranker = BM25(Index.open(tmp_path / name))
        before, after = ranker(queries), RM3(ranker)(queries)
        raised.append(evaluate(judgments, after, "AP").mean("AP") - evaluate(judgments, before, "AP").mean("AP"))
    assert min(raised) > 0.02
