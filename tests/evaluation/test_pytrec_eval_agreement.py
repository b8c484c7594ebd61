"""trec_eval itself as second opinion, over random runs with many ties."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Judgments, Run
from rankwell.evaluation import evaluate, parse_measure

pytrec_eval = pytest.importorskip("pytrec_eval")

Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]

NAMES = {
    "map": "AP",
    "map_cut_3": "AP@3",
    "ndcg": "nDCG",
    "ndcg_cut_3": "nDCG@3",
    "ndcg_cut_10": "nDCG@10",
    "recip_rank": "RR",
    "P_1": "P@1",
    "P_5": "P@5",
    "recall_3": "R@3",
    "success_1": "Success@1",
    "success_5": "Success@5",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "infAP": "infAP",
    "set_P": "SetP",
    "set_relative_P": "SetP(relative=True)",
    "set_recall": "SetR",
    "set_F": "SetF",
    "set_map": "SetAP",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "iprec_at_recall_0.30": "IPrec(rounding='up')@0.3",
    "iprec_at_recall_0.00": "IPrec(rounding='up')@0.0",
    "iprec_at_recall_1.00": "IPrec(rounding='up')@1.0",
}
# Ids of different lengths and beyond ASCII, which is where orders differ.
DOCNOS = [f"d{number}" for number in range(12)] + ["D1", "d-1", "é", "日本", "z"]
# trec_eval writes outside its memory where all grades of a query are below 0.
of_one_query = st.dictionaries(st.sampled_from(DOCNOS), st.integers(-1, 3), min_size=1).filter(
    lambda of_query: max(of_query.values()) >= 0
)
grades = st.dictionaries(st.sampled_from("abc"), of_one_query, min_size=1)
scores = st.dictionaries(
    st.sampled_from("abcd"),
    st.dictionaries(st.sampled_from(DOCNOS), st.sampled_from([0.0, 1.0, 1.00000001, 2.5, -3.0]), min_size=1),
    min_size=1,
)


def theirs(judged: Grades, run: Scores, rel: int = 1) -> dict[str, dict[str, float]]:
    evaluator = pytrec_eval.RelevanceEvaluator(judged, set(NAMES), relevance_level=rel)
    result: dict[str, dict[str, float]] = evaluator.evaluate(run)
    return result


@given(grades, scores, st.integers(0, 2**32))
def test_runs_full_of_ties_give_trec_eval_s_figures_whatever_the_order_of_their_lines(
    judged: Grades, run: Scores, seed: int
) -> None:
    common = judged.keys() & run.keys()
    if not common:
        return
    rows = [(qid, docno, score) for qid, of_query in run.items() for docno, score in of_query.items()]
    random.Random(seed).shuffle(rows)  # noqa: S311 -- an order, not a secret
    result = evaluate(Judgments.from_dict(judged), Run.from_rows(rows), NAMES.values())
    expected = theirs(judged, run)
    for name, ours in NAMES.items():
        found = result.per_query(ours)
        for qid in judged:
            assert found[qid] == pytest.approx(expected[qid][name] if qid in common else known(name, judged[qid])), name


def known(name: str, of_query: dict[str, int]) -> float:
    """What a query has that the run lacks: its relevant documents, and 0 for all else."""
    return sum(grade > 0 for grade in of_query.values()) if name == "num_rel" else 0.0


@given(grades, scores)
def test_a_minimum_grade_means_what_it_means_to_trec_eval(judged: Grades, run: Scores) -> None:
    common = judged.keys() & run.keys()
    # trec_eval reads outside its memory where the level is above every grade of a query.
    if not common or any(max(of_query.values()) < 2 for of_query in judged.values()):
        return
    names = {"map": "AP(rel=2)", "P_5": "P(rel=2)@5", "recip_rank": "RR(rel=2)", "bpref": "Bpref(rel=2)"}
    result = evaluate(Judgments.from_dict(judged), Run.from_dict(run), names.values())
    expected = theirs(judged, run, rel=2)
    for name, ours in names.items():
        for qid in common:
            assert result.per_query(ours)[qid] == pytest.approx(expected[qid][name])


def test_all_equal_scores_are_ranked_by_document_id() -> None:
    judged = {"q": {"a": 1, "b": 0, "c": 2}}
    run = {"q": dict.fromkeys("abcde", 1.0)}
    result = evaluate(Judgments.from_dict(judged), Run.from_dict(run), NAMES.values())
    for name, ours in NAMES.items():
        assert result.per_query(ours)["q"] == pytest.approx(theirs(judged, run)["q"][name])
    assert result.mean("RR") == pytest.approx(1 / 3)  # e, d, c


def test_set_f_weighs_as_trec_eval_does() -> None:
    judged, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 3.0, "x": 2.0, "y": 1.0, "b": 0.0}}
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"set_F.2"})
    expected = evaluator.evaluate(run)["q"]["set_F"]
    found = evaluate(Judgments.from_dict(judged), Run.from_dict(run), parse_measure("SetF(beta=2)"))
    assert found.mean("SetF(beta=2)") == pytest.approx(expected)
