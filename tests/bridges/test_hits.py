"""What all bridges share, without any of their libraries; measures of ir_measures."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rankwell.bridges.hits import check_reranker, find, rescore
from rankwell.core import Judgments, ParameterError, RankwellError, Run, Stage
from rankwell.evaluation import compare, evaluate, parse_measure
from rankwell.index import Index
from rankwell.retrieve import BM25


@dataclass(frozen=True)
class Longest(Stage):
    """A re-ranker that prefers long texts."""

    def apply(self, run: Run) -> Run:
        assert run.documents is not None
        return run.with_scores([len(run.documents[docno].text()) for docno in run.docnos.tolist()])


def test_a_pipeline_finds_documents_with_their_texts(index: Index) -> None:
    best, second = find(BM25(index), "fever in children", k=2)
    assert (best.id, second.id) == ("d1", "d4")
    assert best.text == "Fever in children Fever is common in children and mostly harmless."
    assert best.metadata["year"] == 2019
    assert best.metadata["title"] == "Fever in children"
    assert best.score == BM25(index)("fever in children")["1"].scores[0]


def test_a_template_chooses_the_text(index: Index) -> None:
    assert [hit.text for hit in find(BM25(index), "masks", k=1, document="{title}!")] == ["Masks!"]


def test_a_pipeline_without_texts_is_refused() -> None:
    with pytest.raises(RankwellError, match="expected a first stage over an index"):
        find(_Bare(), "fever", k=1)


@dataclass(frozen=True)
class _Bare(Stage):
    def apply(self, run: Run) -> Run:
        return run


def test_texts_of_others_are_ranked_anew() -> None:
    assert rescore(Longest(), "any", ["bb", "cccc", "a"]) == [(1, 4.0), (0, 2.0), (2, 1.0)]


def test_a_stage_over_an_index_cannot_rank_the_texts_of_others(index: Index) -> None:
    with pytest.raises(ParameterError, match=r"a re-ranker without an index: it reads the given texts, found.*BM25"):
        check_reranker(BM25(index))


def test_measures_of_ir_measures_are_measures(judgments: Judgments) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    run = Run.from_dict({"q1": {"d4": 2.0, "d1": 1.0}, "q2": {"d3": 1.0}, "q3": {"d1": 1.0}})
    wanted = [ir_measures.nDCG @ 10, ir_measures.AP(rel=2), ir_measures.P(judged_only=True) @ 2, ir_measures.RR @ 1]
    ours = evaluate(judgments, run, wanted)
    theirs = ir_measures.calc_aggregate(wanted, judgments.to_dict(), run.to_dict())
    assert {str(measure): ours.mean(measure) for measure in wanted} == pytest.approx(
        {str(measure): value for measure, value in theirs.items()}
    )
    assert str(parse_measure(ir_measures.nDCG(dcg="exp-log2") @ 5)) == "nDCG(dcg='exp-log2')@5"
    assert str(compare(judgments, {"a": run, "b": run.top(1)}, ir_measures.AP).measures[0]) == "AP"


def test_a_measure_that_is_none_says_so() -> None:
    with pytest.raises(ParameterError, match=r"measure: expected a name such as nDCG@10.*found 10"):
        parse_measure(10)  # type: ignore[arg-type]
