from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rankwell.core import Judgments, RankwellError, Run
from rankwell.evaluation import compare, evaluate, unjudged_documents
from rankwell.evaluation.comparison import warnings
from rankwell.evaluation.significance import correct
from rankwell.evaluation.significance.resampling import Randomization


def world(queries: int = 30, better: float = 0.8, seed: int = 0) -> tuple[Judgments, dict[str, Run]]:
    """Judgments, a baseline, a better run and one that is only noise."""
    generator = np.random.default_rng(seed)
    grades = {(f"q{q}", f"d{d}"): int(generator.integers(0, 3)) for q in range(queries) for d in range(20)}
    judgments = Judgments((qid, docno, grade) for (qid, docno), grade in grades.items())
    strengths = {"base": 0.3, "better": better, "noise": 0.3}
    runs = {
        name: Run.from_rows(
            (qid, docno, strength * grade + generator.normal()) for (qid, docno), grade in grades.items()
        )
        for name, strength in strengths.items()
    }
    return judgments, runs


def test_differences_and_p_values_are_those_of_scipy_on_the_per_query_values() -> None:
    judgments, runs = world()
    found = compare(judgments, runs, ["nDCG@10"], correction="none")
    base, better = (evaluate(judgments, runs[name], "nDCG@10").array("nDCG@10") for name in ("base", "better"))
    expected = stats.ttest_rel(better, base)
    difference = found.difference("better", "nDCG@10")
    assert difference is not None
    assert difference.found.mean == pytest.approx(better.mean() - base.mean())
    assert difference.found.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.95)
    assert (difference.found.interval.low, difference.found.interval.high) == pytest.approx((low, high))


def test_p_values_are_corrected_over_the_runs_of_a_measure() -> None:
    judgments, runs = world()
    found = compare(judgments, runs, ["nDCG@10", "RR@10"], correction="holm")
    for measure in found.measures:
        pair = [found.difference(run, measure) for run in ("better", "noise")]
        expected = correct([difference.found.p for difference in pair if difference], "holm")
        assert [difference.corrected_p for difference in pair if difference] == pytest.approx(list(expected))


def test_the_baseline_has_no_difference_to_itself() -> None:
    judgments, runs = world()
    found = compare(judgments, runs, "nDCG@10")
    assert found.baseline == "base"
    assert found.difference("base", "nDCG@10") is None


def test_a_lower_first_rank_is_a_win() -> None:
    judgments = Judgments([("q1", "a", 1), ("q1", "b", 0), ("q2", "a", 1), ("q2", "b", 0)])
    runs = {
        "late": Run.from_dict({"q1": {"b": 2.0, "a": 1.0}, "q2": {"b": 2.0, "a": 1.0}}),
        "early": Run.from_dict({"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 2.0, "a": 1.0}}),
    }
    difference = compare(judgments, runs, "MFR@10").difference("early", "MFR@10")
    assert difference is not None
    assert (difference.found.wins, difference.found.ties, difference.found.losses) == (1, 1, 0)


def test_any_test_can_be_taken() -> None:
    judgments, runs = world()
    found = compare(judgments, runs, "nDCG@10", test=Randomization(seed=1))
    difference = found.difference("better", "nDCG@10")
    assert difference is not None
    assert difference.found.test == "randomization"
    assert difference.found.p < 0.001


def test_readers_are_warned_of_what_the_figures_do_not_carry() -> None:
    judgments = Judgments([("q1", "a", 1), ("q2", "a", 1), ("q3", "a", 0)])
    run = Run.from_dict({"q1": {"a": 3.0, "x": 2.0, "y": 1.0}, "q9": {"a": 1.0}})
    said = list(compare(judgments, {"base": run, "other": run}, "P@3").warnings())
    assert "judged queries that a run lacks count as 0: base 2, other 2" in said
    assert "queries without judgments are left out: base 1, other 1" in said
    assert any("no judgment" in sentence and "base 67%" in sentence for sentence in said)
    assert any("3 queries" in sentence for sentence in said)


def test_a_judged_run_of_many_queries_needs_no_warning() -> None:
    judgments, runs = world(queries=50)
    assert not list(warnings(evaluate(judgments, runs, "nDCG@10")))


def test_comparing_nothing_is_a_mistake() -> None:
    with pytest.raises(RankwellError, match="expected a baseline"):
        compare(Judgments([("q", "d", 1)]), {}, "P@1")


def test_unjudged_documents_are_listed_best_ranked_first() -> None:
    judgments = Judgments([("q1", "a", 1), ("q2", "a", 1)])
    one = Run.from_dict({"q1": {"a": 3.0, "x": 2.0, "y": 1.0}, "q9": {"z": 1.0}})
    other = Run.from_dict({"q1": {"y": 3.0, "w": 2.0, "deep": 1.0}, "q2": {"a": 1.0}})
    assert unjudged_documents(judgments, [one, other], depth=2) == {"q1": ("y", "w", "x")}


def test_a_measure_over_all_pairs_together_has_no_interval_and_no_test() -> None:
    judgments, runs = world()
    found = compare(judgments, runs, ["AUC", "NumRelRet", "nDCG@10"])
    assert found.difference("better", "AUC") is None
    assert found.interval("better", "AUC") is None
    assert found.difference("better", "nDCG@10") is not None
    assert "one number for all queries together has no interval and no test: AUC, NumRelRet" in list(found.warnings())


def test_queries_without_a_value_are_left_out_of_the_test_and_said() -> None:
    judgments, runs = world(queries=30)
    one_kind = {"q0": dict.fromkeys(judgments["q0"], 2), **{qid: dict(judgments[qid]) for qid in list(judgments)[1:]}}
    some = Judgments((qid, docno, grade) for qid, grades in one_kind.items() for docno, grade in grades.items())
    found = compare(some, runs, ["AUC(by='query')"])
    difference = found.difference("better", "AUC(by='query')")
    assert difference is not None
    assert difference.found.queries == 29
    ours, base = (found.evaluations[name].array("AUC(by='query')")[1:] for name in ("better", "base"))
    assert difference.found.p == pytest.approx(stats.ttest_rel(ours, base).pvalue)
    assert any("is not defined for every query" in said and "29 of 30" in said for said in found.warnings())


def test_queries_without_a_relevant_document_are_said() -> None:
    judgments = Judgments([("q1", "d1", 0), ("q2", "d2", 1)])
    run = Run.from_dict({"q1": {"d1": 1.0}, "q2": {"d2": 1.0}})
    said = list(warnings({"a": evaluate(judgments, run, ["RR"])}))
    assert said == ["queries without a relevant document, for which every run gets the worst value: 1 of 2"]
