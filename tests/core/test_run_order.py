from __future__ import annotations

import numpy as np
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Run
from rankwell.core.arrays import strings
from rankwell.core.run import ranking_order

# Few different scores, so that most documents are tied with others.
TIED_SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 2.5, -3.0])
DOCNOS = st.text("aZ9é\U0001f600￿", min_size=1, max_size=3)
RUNS = st.dictionaries(
    st.text("q0", min_size=1, max_size=2), st.dictionaries(DOCNOS, TIED_SCORES, max_size=12), max_size=5
)


def naive(scores: dict[str, float]) -> list[str]:
    """Higher 32-bit score first, then the id that is greater byte by byte."""
    order = sorted(scores, key=str.encode, reverse=True)
    return sorted(order, key=lambda docno: -float(np.float32(scores[docno])))


@given(RUNS)
def test_ties_are_ranked_by_descending_id_as_a_plain_sort_would(scores: dict[str, dict[str, float]]) -> None:
    run = Run.from_dict(scores)
    assert {qid: ranking.docnos.tolist() for qid, ranking in run.rankings()} == {
        qid: naive(of_query) for qid, of_query in scores.items()
    }


@given(RUNS)
def test_ids_as_bytes_are_ranked_like_ids_as_text(scores: dict[str, dict[str, float]]) -> None:
    offsets = np.cumsum([0, *(len(of_query) for of_query in scores.values())])
    docnos = [docno.encode() for of_query in scores.values() for docno in of_query]
    values = [score for of_query in scores.values() for score in of_query.values()]
    given_bytes = np.array(docnos, dtype="S12")
    assert Run.from_columns(list(scores), offsets, given_bytes, np.array(values)) == Run.from_dict(scores)


def test_what_is_in_order_already_is_left_alone() -> None:
    assert ranking_order(np.array([0, 2, 3]), strings(["b", "a", "c"]), np.float32([2, 1, 9])) is None


def test_a_higher_score_in_the_next_query_is_no_disorder() -> None:
    run = Run.from_dict({"1": {"a": 1.0}, "2": {"b": 5.0}})
    assert run["1"].docnos.tolist() == ["a"]
    assert run["2"].docnos.tolist() == ["b"]


def test_empty_queries_between_others_do_not_shift_the_borders() -> None:
    run = Run.from_dict({"0": {}, "1": {"a": 1.0, "b": 2.0}, "2": {}, "3": {}, "4": {"c": 1.0, "d": 1.0}, "5": {}})
    assert run.to_dict() == {"0": {}, "1": {"b": 2.0, "a": 1.0}, "2": {}, "3": {}, "4": {"d": 1.0, "c": 1.0}, "5": {}}


def test_trec_eval_agrees_on_who_comes_first_among_equals() -> None:
    scores = {"q": {"a": 1.0, "b": 1.0 + 1e-9, "B": 1.0, "é": 1.0}}  # equal as 32-bit numbers
    first = Run.from_dict(scores)["q"].docnos.tolist()[0]
    evaluator = pytrec_eval.RelevanceEvaluator({"q": {first: 1}}, {"recip_rank"})
    assert evaluator.evaluate(scores)["q"]["recip_rank"] == 1.0
