"""What rests on scores: ROC, distributions, classification at a threshold; scikit-learn is the second opinion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Judgments, Run
from rankwell.evaluation import classify, evaluate, join
from rankwell.evaluation.comparison import warnings
from rankwell.evaluation.judged import Judged
from rankwell.evaluation.run_analysis import Confusion, auc, roc_curve, score_distribution

metrics = pytest.importorskip("sklearn.metrics")

labelled = st.lists(
    st.tuples(st.sampled_from("ab"), st.booleans(), st.sampled_from([-1.5, 0.0, 0.5, 1.0, 2.0])), min_size=2
).filter(lambda rows: len({relevant for _, relevant, _ in rows}) == 2)


def judged(rows: list[tuple[str, bool, float]]) -> Judged:
    named = [(qid, f"d{number}", relevant, score) for number, (qid, relevant, score) in enumerate(rows)]
    judgments = Judgments((qid, docno, int(relevant)) for qid, docno, relevant, _ in named)
    unjudged = [("a", "x", 9.0)]
    return join(judgments, Run.from_rows([*((qid, docno, score) for qid, docno, _, score in named), *unjudged]))


@given(labelled)
def test_auc_and_curve_equal_scikit_learn_s_ties_included(rows: list[tuple[str, bool, float]]) -> None:
    labels, scores = [row[1] for row in rows], [row[2] for row in rows]
    assert auc(np.array(labels), scores) == pytest.approx(metrics.roc_auc_score(labels, scores))
    curve = roc_curve(judged(rows))
    false, true, thresholds = metrics.roc_curve(labels, scores, drop_intermediate=False)
    assert curve.false_positives == pytest.approx(false)
    assert curve.true_positives == pytest.approx(true)
    assert curve.thresholds == pytest.approx(thresholds)


def test_auc_is_over_all_pairs_or_within_queries() -> None:
    judgments = Judgments.from_dict({"a": {"r": 1, "n": 0}, "b": {"r": 1, "n": 0}, "one kind": {"r": 1}})
    scores = {"a": {"r": 9.0, "n": 8.0, "unjudged": 8.5}, "b": {"r": 2.0, "n": 1.0}, "one kind": {"r": 0.0}}
    result = evaluate(judgments, Run.from_dict(scores), ["AUC", "AUC(by='query')"])
    labels, pooled = [1, 0, 1, 0, 1], [9.0, 8.0, 2.0, 1.0, 0.0]
    assert result.mean("AUC") == pytest.approx(metrics.roc_auc_score(labels, pooled))
    assert result.mean("AUC(by='query')") == 1.0
    assert result.array("AUC")[:2].tolist() == [1.0, 1.0]
    assert np.isnan(result.array("AUC")[2])


def test_auc_counts_judged_documents_that_the_run_lacks_as_ranked_last() -> None:
    judgments = Judgments([("q", "a", 1), ("q", "b", 0), ("q", "lost", 1), ("q", "gone", 0), ("q", "away", 0)])
    run = Run.from_dict({"q": {"a": 2.0, "b": 1.0, "x": 0.5}})
    found = evaluate(judgments, {"run": run}, ["AUC", "AUC(by='query')", "AUC(missing='leave-out')"])["run"]
    whole = metrics.roc_auc_score([1, 0, 1, 0, 0], [2.0, 1.0, -9.0, -9.0, -9.0])
    assert found.mean("AUC") == found.mean("AUC(by='query')") == pytest.approx(whole)
    assert found.mean("AUC(missing='leave-out')") == 1.0
    said = list(warnings({"run": found}))
    assert any("3 of 5 judged documents are not in the run and count as ranked last" in one for one in said)
    assert any("is about the returned documents alone" in one for one in said)


def test_auc_of_one_kind_only_is_not_a_number() -> None:
    assert np.isnan(evaluate(Judgments([("q", "a", 1)]), Run.from_dict({"q": {"a": 1.0}}), "AUC").mean("AUC"))


@given(labelled, st.sampled_from([-2.0, 0.0, 0.25, 1.0, 3.0]))
def test_classification_equals_scikit_learn_s(rows: list[tuple[str, bool, float]], threshold: float) -> None:
    labels, accepted = [row[1] for row in rows], [row[2] >= threshold for row in rows]
    found = classify(judged(rows), threshold)
    assert found.f1 == pytest.approx(metrics.f1_score(labels, accepted, zero_division=0))
    assert found.precision == pytest.approx(metrics.precision_score(labels, accepted, zero_division=0))
    assert found.recall == pytest.approx(metrics.recall_score(labels, accepted, zero_division=0))
    assert found.accuracy == pytest.approx(metrics.accuracy_score(labels, accepted))
    counts = [found.true_negative, found.false_positive, found.false_negative, found.true_positive]
    assert counts == metrics.confusion_matrix(labels, accepted, labels=[False, True]).ravel().tolist()


def test_the_textbook_confusion_matrix() -> None:
    found = Confusion(true_positive=5, false_positive=10, false_negative=7, true_negative=20)
    shares = (found.accuracy, found.precision, found.recall, found.f1)
    assert [f"{share:.2f}" for share in shares] == ["0.60", "0.33", "0.42", "0.37"]


def test_scores_are_told_apart_by_relevance_and_unjudged_ones_left_out() -> None:
    judgments = Judgments.from_dict({"q": {"a": 2, "b": 1, "c": 0, "d": -1}})
    view = join(judgments, Run.from_dict({"q": {"a": 4.0, "x": 3.5, "b": 3.0, "c": 2.0, "d": 1.0}}))
    assert score_distribution(view).relevant.tolist() == [4.0, 3.0]
    assert score_distribution(view).not_relevant.tolist() == [2.0, 1.0]
    assert score_distribution(view, rel=2).relevant.tolist() == [4.0]
