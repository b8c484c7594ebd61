from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rankwell import Analyzer, Document, Queries, Query, Run
from rankwell.core import ParameterError, RankwellError
from rankwell.index import Index, IndexWriter
from rankwell.retrieve.bm25 import BM25

PAPERS = {
    "p1": {"title": "Fever in children", "abstract": "A study of fever and of cough."},
    "p2": {"title": "Cough", "abstract": "Cough without fever is common."},
    "p3": {"title": "Broken arms"},
}


@pytest.fixture
def index(tmp_path: Path) -> Index:
    with IndexWriter(tmp_path / "papers", Analyzer()) as writer:
        writer.add_all(Document(docno, fields) for docno, fields in PAPERS.items())
    return Index.open(tmp_path / "papers")


def test_it_gives_a_run_for_the_queries(index) -> None:
    run = BM25(index)({"q1": "fever", "q2": "broken arm"})
    assert run.qids == ("q1", "q2")
    assert run["q1"].docnos.tolist() == ["p1", "p2"]
    assert run["q2"].docnos.tolist() == ["p3"]
    assert run.documents is not None
    assert run.documents["p3"].fields == PAPERS["p3"]
    assert run.queries is not None
    assert run.queries["q2"].text() == "broken arm"


def test_it_is_the_first_stage_of_a_pipeline(index) -> None:
    run = BM25(index).top(1)("fever")
    assert run["1"].docnos.tolist() == ["p1"]


def test_weights_choose_the_fields(index) -> None:
    assert BM25(index, weights={"title": 1.0})("cough")["1"].docnos.tolist() == ["p2"]
    by_both = BM25(index, weights={"title": 0.25, "abstract": 0.6})("cough fever")
    assert set(by_both["1"].docnos.tolist()) == {"p1", "p2"}


def test_and_asks_for_all_terms(index) -> None:
    assert BM25(index, match="and")("children cough")["1"].docnos.tolist() == ["p1"]


def test_queries_without_terms_find_nothing_and_are_told_of(index, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        run = BM25(index)({"a": "", "b": "of the", "c": "fever"})
    assert [len(run[qid]) for qid in run] == [0, 0, 2]
    assert "2 queries have no terms" in caplog.text
    assert "a, b" in caplog.text


def test_a_field_that_does_not_exist_is_refused_before_anything_runs(index) -> None:
    with pytest.raises(ParameterError, match=r"title, abstract\), found \"body\""):
        BM25(index, weights={"body": 1.0})("fever")


def test_another_wording_of_the_query_can_be_searched_for(index) -> None:
    queries = Queries([Query("1", {"query": "fever", "question": "who has a cough?"})])
    assert BM25(index, query_field="question", match="and", weights={"title": 1})(queries)["1"].docnos.tolist() == []
    assert BM25(index, query_field="query", weights={"title": 1})(queries)["1"].docnos.tolist() == ["p1"]


def test_a_run_without_queries_is_refused(index) -> None:
    with pytest.raises(RankwellError, match="without their texts"):
        BM25(index).apply(Run.from_dict({"1": {"p1": 1.0}}))


@pytest.mark.parametrize("options", [{"k": 0}, {"k1": -1}, {"idf": "x"}, {"threads": 0}])
def test_parameters_are_checked_when_it_is_made(index, options) -> None:
    with pytest.raises(ParameterError):
        BM25(index, **options)


def test_its_fingerprint_follows_configuration_and_content(index) -> None:
    assert BM25(index).fingerprint() == BM25(index, threads=4).fingerprint()
    assert BM25(index).fingerprint() != BM25(index, k1=0.9).fingerprint()
    with IndexWriter(index.path) as writer:
        writer.delete("p3")
    assert BM25(Index.open(index.path)).fingerprint() != BM25(index).fingerprint()


def test_its_repr_is_its_configuration(index) -> None:
    assert "k1=0.9, b=0.4, idf='lucene'" in repr(BM25(index, k1=0.9, b=0.4))
