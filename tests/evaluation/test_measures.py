from __future__ import annotations

from math import log2

import numpy as np
import pytest

from rankwell.core import Document, Judgments, ParameterError, Run
from rankwell.evaluation import MEASURES, evaluate, parse_measure
from rankwell.evaluation.comparison import warnings

LABELS = {"1": 1, "2": 1, "3": 0, "4": 1, "5": 0, "6": 0, "7": 1, "8": 0, "9": 0, "10": 0}


def in_order(*docnos: str) -> dict[str, float]:
    """A ranking of these documents."""
    return {docno: float(-place) for place, docno in enumerate(docnos)}


def value(measure: str, grades: dict[str, int], ranking: dict[str, float]) -> float:
    """The measure of one query."""
    return evaluate(Judgments.from_dict({"q": grades}), Run.from_dict({"q": ranking}), measure).mean(measure)


def ranked(*labels: int) -> tuple[dict[str, int], dict[str, float]]:
    """Judgments and a ranking in which the documents have these labels from the top."""
    docnos = [f"d{place}" for place in range(len(labels))]
    return dict(zip(docnos, labels, strict=True)), in_order(*docnos)


def test_average_precision_of_the_textbook_example() -> None:
    assert value("AP", LABELS, in_order(*LABELS)) == pytest.approx(0.83, abs=0.005)


def test_mean_average_precision_of_the_textbook_example() -> None:
    lists = {"0.83": (1, 1, 0, 1, 0, 0, 1), "0.79": (1, 1, 0, 0, 1, 0, 1), "0.90": (1, 1, 1, 0, 1, 0, 1)}
    queries = {name: ranked(*labels) for name, labels in lists.items()}
    judgments = Judgments.from_dict({name: grades for name, (grades, _) in queries.items()})
    run = Run.from_dict({name: ranking for name, (_, ranking) in queries.items()})
    result = evaluate(judgments, run, "MAP")
    assert {name: f"{found:.2f}" for name, found in result.per_query("AP").items()} == {name: name for name in lists}
    assert f"{result.mean('MAP'):.2f}" == "0.84"


def test_three_forms_of_dcg() -> None:
    grades, ranking = ranked(3, 2, 0, 1)
    assert value("DCG", grades, ranking) == pytest.approx(3 + 2 / log2(3) + 1 / log2(5))
    assert value("DCG(dcg='exp-log2')", grades, ranking) == pytest.approx(7 + 3 / log2(3) + 1 / log2(5))
    assert value("DCG(dcg='original')", grades, ranking) == pytest.approx(3 + 2 / 1 + 1 / log2(4))
    assert value("DCG@2", grades, ranking) == pytest.approx(3 + 2 / log2(3))


def test_dcg_can_give_unjudged_documents_the_lowest_grade() -> None:
    grades, ranking = {"a": 5, "b": 2}, in_order("x", "a", "y", "b", "z")
    expected = 1 + 5 + 1 / log2(3) + 2 / 2 + 1 / log2(5)
    assert value("DCG(dcg='original',unjudged=1)", grades, ranking) == pytest.approx(expected)
    assert value("DCG(dcg='original',unjudged=1)@3", grades, ranking) == pytest.approx(1 + 5 + 1 / log2(3))


def test_ideals_of_ndcg_are_chosen_by_name() -> None:
    grades, ranking = {"a": 1, "b": 3, "never returned": 3}, in_order("a", "x", "b")
    gained = 1 + 3 / log2(4)
    assert value("nDCG", grades, ranking) == pytest.approx(gained / (3 + 3 / log2(3) + 1 / log2(4)))
    assert value("nDCG(ideal='matched')", grades, ranking) == pytest.approx(gained / (3 + 1 / log2(3)))
    assert value("nDCG(ideal='matched')@2", grades, ranking) == pytest.approx(1 / (3 + 1 / log2(3)))
    assert value("nDCG(ideal='list')@2", grades, ranking) == pytest.approx(1.0)


def test_no_list_is_better_than_an_ideal_with_a_grade_for_unjudged_documents() -> None:
    grades = {"a": 2}
    assert value("nDCG(unjudged=1)", grades, in_order("a", "x", "y")) == pytest.approx(1.0)
    assert value("nDCG(unjudged=1)@2", grades, in_order("a", "x", "y")) == pytest.approx(1.0)
    worse = value("nDCG(unjudged=1)", grades, in_order("x", "a"))
    assert worse == pytest.approx((1 + 2 / log2(3)) / (2 + 1 / log2(3)))
    assert value("nDCG(ideal='list',unjudged=1)", grades, in_order("x", "a")) == pytest.approx(worse)


def test_a_perfect_list_has_ndcg_1_in_every_form() -> None:
    grades, ranking = ranked(3, 2, 2, 1, 0)
    for form in ("log2", "exp-log2", "original"):
        assert value(f"nDCG(dcg='{form}')@10", grades, ranking) == pytest.approx(1.0)


def test_first_relevant_rank_is_one_past_the_cut_off_where_there_is_none() -> None:
    judgments = Judgments.from_dict({"found": {"a": 1}, "too low": {"a": 1}, "not in the run": {"a": 1}})
    run = Run.from_dict({"found": in_order("x", "a"), "too low": in_order("x", "y", "z", "a")})
    result = evaluate(judgments, run, "MFR@3")
    assert result.per_query("MFR@3") == {"found": 2.0, "too low": 4.0, "not in the run": 4.0}
    assert not parse_measure("MFR@3").higher_is_better


def test_judged_and_unjudged_shares_of_the_top() -> None:
    grades, ranking = {"a": 1, "b": 0, "c": -1}, in_order("a", "x", "c", "y")
    assert value("Judged@2", grades, ranking) == 0.5
    assert value("Judged@10", grades, ranking) == 0.5  # of the four that there are
    assert value("Unjudged@10", grades, ranking) == pytest.approx(0.2)
    assert value("NumUnjudged@2", grades, ranking) == 1
    assert value("NumUnjudged", grades, ranking) == 2


def test_match_ratio_takes_the_size_of_the_runs_collection_and_says_where_the_run_was_cut() -> None:
    texts = {f"d{number}": Document(f"d{number}", {"text": "fever"}) for number in range(40)}
    cut = dict.fromkeys(list(texts)[:10], 1.0)
    run = Run.from_dict({"1": cut, "2": cut}, documents=texts)
    judgments = Judgments([("1", "d1", 1), ("2", "d2", 1)])
    found = evaluate(judgments, {"bm25": run}, "MatchRatio")
    assert found["bm25"].mean("MatchRatio") == 0.25
    said, *_ = warnings(found)
    assert said.startswith("MatchRatio of bm25: 2 queries return exactly 10 documents: the run was cut there (rank -k)")
    with pytest.raises(ParameterError, match="--collection"):
        evaluate(judgments, Run.from_dict({"1": {"d1": 1.0}}), "MatchRatio")


def test_match_ratio_is_the_share_of_the_collection() -> None:
    assert value("MatchRatio(documents=8)", {"a": 1}, in_order("a", "x")) == 0.25


def test_rbp_takes_grades_or_a_minimum_grade() -> None:
    grades, ranking = {"a": 1, "b": 2}, in_order("a", "x", "b")
    assert value("RBP(p=0.5)", grades, ranking) == pytest.approx(0.5 * (0.5 + 0.25))
    assert value("RBP(p=0.5,rel=1)", grades, ranking) == pytest.approx(0.5 * (1 + 0.25))
    assert value("RBP(p=0.5,rel=2)", grades, ranking) == pytest.approx(0.5 * 0.25)


def test_a_query_without_relevant_documents_counts_as_0() -> None:
    for measure in ("nDCG@10", "AP", "RR", "P@5", "R@5", "Rprec", "Bpref", "infAP", "IPrec@0.0", "SetF"):
        assert value(measure, {"a": 0, "b": -1}, in_order("a", "b", "c")) == 0


def test_negative_grades_are_worth_nothing() -> None:
    with_negative, with_zero = {"a": -2, "b": 2}, {"a": 0, "b": 2}
    for measure in ("nDCG@10", "nDCG(dcg='exp-log2')@10", "DCG", "AP", "P@2", "RBP"):
        ranking = in_order("a", "b")
        assert value(measure, with_negative, ranking) == pytest.approx(value(measure, with_zero, ranking))


def test_a_measure_of_judged_documents_only_sees_the_condensed_list() -> None:
    grades, ranking = {"a": 0, "b": 1}, in_order("x", "a", "y", "b")
    assert value("RR", grades, ranking) == 0.25
    assert value("RR(judged_only=True)", grades, ranking) == 0.5


@pytest.mark.parametrize("kind", MEASURES, ids=lambda kind: kind.name)
def test_every_measure_has_a_value_for_queries_without_hits(kind: type) -> None:
    needed = {"cutoff": 3, "recall": 0.5, "documents": 9}
    measure = kind(**{name: needed[name] for name in needed if name in kind.__dataclass_fields__})
    judgments = Judgments.from_dict({"empty": {"a": 1}, "missing": {"a": 1}, "no hit": {"a": 1}})
    run = Run.from_columns(["empty", "no hit"], [0, 0, 1], np.array(["x"], dtype="T"), [1.0])
    values = evaluate(judgments, run, measure).array(measure)
    assert values.dtype == np.float64
    assert len(values) == 3
    assert kind.name == "AUC" or np.isfinite(values).all()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("P@0", "P, cutoff: expected a whole number, at least 1, found 0"),
        ("P(rel=0)@5", "P, rel: expected a whole number, at least 1, found 0"),
        ("RBP(p=1.5)", "RBP, p: expected a number between 0 and 1, found 1.5"),
        ("IPrec@1.5", "IPrec, recall: expected a number from 0 to 1, found 1.5"),
        ("nDCG(dcg='ln')", "nDCG, dcg: expected 'log2' or 'exp-log2' or 'original', found \"ln\""),
        ("nDCG(ideal='best')", "nDCG, ideal: expected 'judged' or 'matched' or 'list', found \"best\""),
        ("AUC(by='run')", "AUC, by: expected 'pairs' or 'query', found \"run\""),
        ("SetF(beta=0)", "SetF, beta: expected a number above 0, found 0"),
    ],
)
def test_impossible_parameters_are_told_in_one_line(name: str, told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_measure(name)
    assert str(caught.value) == told
