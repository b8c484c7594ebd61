"""A model that was trained to rank, on texts that everyone has: Python's documentation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankwell.collections import open_collection, read_qrels, read_queries, read_run, write_run
from rankwell.core import Document, Queries, Run
from rankwell.evaluation import compare
from rankwell.index import Index, IndexWriter
from rankwell.models.cross_encoder.ranking import CrossEncoder, at_depths
from rankwell.models.explanation import Interpolate, explain_rerank
from rankwell.models.reranking.passages import Passages
from rankwell.retrieve import BM25

BERLIN = {
    "people": "Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.",
    "museums": "Berlin is well known for its museums.",
    "york": "New York City is famous for the Metropolitan Museum of Art.",
}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("python")
    with IndexWriter(folder) as writer:
        writer.add_all(open_collection("rankwell:python").documents())
    return Index.open(folder)


@pytest.fixture(scope="module")
def first(python: Index) -> Run:
    return BM25(python, k=12)(["make a temporary folder", "sort by two keys"])


def test_a_real_model_knows_what_a_question_is_about(real_model: str) -> None:
    documents = {name: Document(name, {"text": text}) for name, text in BERLIN.items()}
    run = Run.from_dict(
        {"1": {"york": 3.0, "museums": 2.0, "people": 1.0}},
        queries=Queries.of("How many people live in Berlin?"),
        documents=documents,
    )
    found = CrossEncoder(real_model)(run)
    assert found["1"].docnos.tolist() == ["people", "museums", "york"]
    # The model's card has these for fp32; tests/encode compares our int8 scores with fp32 of the same weights.
    assert found["1"].scores[:2] == pytest.approx([9.22, -4.08], abs=0.2)
    probabilities = CrossEncoder(real_model, scores="probability")(run)
    assert probabilities["1"].docnos.tolist() == ["people", "museums", "york"]
    assert probabilities["1"].scores == pytest.approx(1 / (1 + np.exp(-found["1"].scores)), abs=1e-6)


def test_kept_scores_give_every_depth_what_a_direct_run_gives(real_model: str, first: Run, tmp_path: Path) -> None:
    stage = CrossEncoder(real_model, document="{title} {docstring}", max_tokens=64, quiet=True, cache=tmp_path)
    swept = at_depths(stage, first, [3, 8, 12])
    for depth, found in swept.items():
        direct = replace(stage, k=depth, cache=False)(first)
        kept = replace(stage, k=depth)(first)
        assert found == direct == kept
        write_run(tmp_path / "direct.trec", direct, "trec")
        write_run(tmp_path / "kept.trec", kept, "trec")
        assert (tmp_path / "direct.trec").read_bytes() == (tmp_path / "kept.trec").read_bytes()


def test_a_score_does_not_depend_on_order_or_company(real_model: str, first: Run) -> None:
    settings = {"document": "{title} {docstring}", "max_tokens": 64, "quiet": True, "cache": False}
    stage = CrossEncoder(real_model, **settings)  # type: ignore[arg-type]
    together = stage(first)["2"]
    names = first["2"].docnos.tolist()[:5]
    names = [names[place] for place in (3, 0, 4, 2, 1)]
    few = Run.from_dict(
        {"2": {name: float(-place) for place, name in enumerate(names)}},
        queries=first.queries,
        documents=first.documents,
    )
    assert dict(stage(few)["2"]) == {name: score for name, score in together if name in names}


def test_passages_and_mixing_work_on_real_documents(real_model: str, first: Run, python: Index) -> None:
    long = first.top(3)
    stage = CrossEncoder(real_model, passages=Passages(40, 10), aggregate="max", max_tokens=96, quiet=True)
    found = stage(long)
    for qid, ranking in found.rankings():
        for docno, score in ranking:
            explained = explain_rerank(stage, long.queries[qid].text(), python.documents[docno])  # type: ignore[index]
            assert explained.score == score
            assert explained.best is not None
            assert explained.best.probability == pytest.approx(score, abs=1e-6)
    mixed = Interpolate(stage, alpha=0.5)(long)
    assert mixed["1"].scores.max() <= 1
    assert sorted(mixed["1"].docnos.tolist()) == sorted(found["1"].docnos.tolist())


def test_a_document_of_100_000_words_is_cut_and_that_is_said(real_model: str, caplog: pytest.LogCaptureFixture) -> None:
    long = Document("long", {"text": BERLIN["people"] + " and so on" * 33_333})
    run = Run.from_dict(
        {"1": {"long": 1.0}}, queries=Queries.of("How many people live in Berlin?"), documents={"long": long}
    )
    CrossEncoder(real_model, cache=False)(run)
    assert "1 documents and 0 queries of 1 texts were cut" in caplog.text


# The figure at a depth of 100 is the one on our pages.
@pytest.mark.parametrize(
    ("depth", "expected"),
    [pytest.param(20, 0.63, marks=pytest.mark.slow), pytest.param(100, 0.72, marks=pytest.mark.long)],
)
def test_bert_lifts_bm25_on_trec_deep_learning_2019(real_model: str, data: Path, depth: int, expected: float) -> None:
    folder = data / "msmarco-dl19-pool"
    run = replace(
        read_run(folder / "runs" / "BM25.trec"),
        queries=read_queries(folder / "queries.jsonl"),
        documents={document.id: document for document in open_collection(folder).documents()},
    )
    found = compare(
        read_qrels(folder / "qrels" / "full.tsv"),
        {"BM25": run, "BERT": CrossEncoder(real_model, k=depth, quiet=True)(run)},
        ["nDCG@10"],
    )
    assert found.evaluations["BM25"].mean("nDCG@10") == pytest.approx(0.5058, abs=5e-5)
    assert found.evaluations["BERT"].mean("nDCG@10") >= expected
    difference = found.difference("BERT", "nDCG@10")
    assert difference is not None
    assert difference.found.p < 1e-5
