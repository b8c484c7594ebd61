from __future__ import annotations

import numpy as np
import pytest

from rankwell.core import Judgments, ParameterError, RankwellError, Run
from rankwell.evaluation import evaluate, join
from rankwell.evaluation.judged import FEW

JUDGMENTS = Judgments.from_dict({"2": {"a": 1, "b": 0}, "1": {"a": 2}, "3": {"c": 1}})
RUN = Run.from_dict({"1": {"a": 2.0, "x": 1.0}, "2": {"b": 2.0, "a": 1.0}, "9": {"a": 1.0}}, tag="mine")


def test_queries_come_in_the_order_of_the_judgments() -> None:
    result = evaluate(JUDGMENTS, RUN, ["RR", "NumQ"])
    assert result.qids == ("2", "1", "3")
    assert result.array("RR").tolist() == [0.5, 1.0, 0.0]
    assert result.per_query("RR") == {"2": 0.5, "1": 1.0, "3": 0.0}


def test_a_mismatch_is_kept_and_counted() -> None:
    result = evaluate(JUDGMENTS, RUN, "RR")
    assert result.queries == 3
    assert result.mean("RR") == pytest.approx(0.5)
    assert result.missing == ("3",)
    assert result.unknown == ("9",)


def test_how_much_of_the_top_is_judged_is_always_there() -> None:
    result = evaluate(JUDGMENTS, RUN, "RR", unjudged="remove")
    assert (result.returned_on_top, result.unjudged_on_top) == (4, 1)
    assert result.judged_share == 0.75


def test_counts_are_summed() -> None:
    result = evaluate(JUDGMENTS, RUN, ["NumQ", "NumRel", "NumRet", "NumRelRet"])
    assert list(result.means.values()) == [3, 3, 4, 2]


def test_several_runs_are_measured_by_name() -> None:
    results = evaluate(JUDGMENTS, {"all": RUN, "top": RUN.top(1)}, ["RR@10"])
    assert {name: result.mean("RR@10") for name, result in results.items()} == {
        "all": pytest.approx(0.5),
        "top": pytest.approx(1 / 3),
    }


def test_a_run_without_a_common_query_is_refused() -> None:
    with pytest.raises(RankwellError) as caught:
        evaluate(JUDGMENTS, Run.from_dict({"301": {"a": 1.0}}, tag="other"), "RR")
    assert str(caught.value) == (
        "run 'other': expected a query in common with the judgments, found '301' in the run and '2', '1', '3' in the "
        "judgments"
    )


def test_an_empty_run_or_empty_judgments_have_no_query_in_common() -> None:
    with pytest.raises(RankwellError, match="found no query in the run"):
        evaluate(JUDGMENTS, Run.from_dict({}), "RR")
    with pytest.raises(RankwellError, match="no query in the judgments"):
        evaluate(Judgments(), RUN, "RR")


def test_a_measure_that_was_not_asked_for_is_refused() -> None:
    with pytest.raises(ParameterError, match=r'measure: expected RR or P@5, found "AP"'):
        evaluate(JUDGMENTS, RUN, ["RR", "P@5"]).mean("AP")


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ParameterError, match=r'unjudged: expected zero or remove or bounds, found "ignore"'):
        evaluate(JUDGMENTS, RUN, "RR", unjudged="ignore")


def test_both_ways_to_find_judged_documents_find_the_same() -> None:
    docnos = [f"d{number}" for number in range(50)]
    ranking = {docno: float(number % 7) for number, docno in enumerate(docnos)}
    few = {docno: number % 3 for number, docno in enumerate(docnos[::10])}
    many = few | {f"not returned {number}": 0 for number in range(FEW + 1)}
    assert len(few) <= FEW < len(many)
    run = Run.from_dict({"q": ranking})
    one, other = (join(Judgments.from_dict({"q": grades}), run) for grades in (few, many))
    for column in ("query", "rank", "grade", "score"):
        assert np.array_equal(getattr(one, column), getattr(other, column))
    assert one.rank.tolist() == sorted(one.rank.tolist())
