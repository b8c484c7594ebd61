"""The learner: what it does with no, with one-sided and with mixed decisions."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from rankwell.core import MissingExtraError, ParameterError, RankwellError
from rankwell.reviews.screening import Learner
from rankwell.reviews.screening.learner import text_features

RECORDS = [
    "asthma inhaler trial in children",
    "asthma inhaler cohort in adults",
    "asthma steroid inhaler dose",
    "depression therapy of women",
    "depression drug trial",
    "knee surgery outcome",
]


def first(scores: np.ndarray, count: int) -> set[int]:
    return set(np.argsort(-scores, kind="stable")[:count].tolist())


def test_before_any_decision_the_title_ranks() -> None:
    assert first(Learner(RECORDS, "Inhaler for asthma").scores({}), 3) == {0, 1, 2}


def test_without_title_and_decisions_all_are_equal() -> None:
    assert Learner(RECORDS).scores({}).tolist() == [0] * 6


def test_a_title_of_unknown_words_says_nothing() -> None:
    assert Learner(RECORDS, "zebra").scores({}).tolist() == [0] * 6


def test_one_included_record_draws_its_like() -> None:
    assert first(Learner(RECORDS).scores({3: True}), 2) == {3, 4}


def test_one_excluded_record_pushes_its_like_back() -> None:
    scores = Learner(RECORDS).scores({0: False})
    assert scores[1] < scores[5]
    assert scores[0] == scores.min()


def test_decisions_turn_the_order() -> None:
    learner = Learner(RECORDS, "Inhaler for asthma", title=1)
    scores = learner.scores({3: True, 4: True, 0: False, 1: False})
    assert scores[3] > scores[2]
    assert scores[4] > scores[0]


def test_the_title_can_be_left_out() -> None:
    decisions = {3: True, 0: False}
    without = Learner(RECORDS, "Inhaler for asthma", title=0).scores(decisions)
    assert without == pytest.approx(Learner(RECORDS).scores(decisions))
    assert without != pytest.approx(Learner(RECORDS, "Inhaler for asthma").scores(decisions))


def test_the_same_decisions_give_the_same_scores() -> None:
    decisions = {0: True, 3: False, 5: False}
    again = Learner(RECORDS, "asthma").scores(decisions)
    assert np.array_equal(Learner(RECORDS, "asthma").scores(decisions), again)


def test_the_machine_is_the_one_that_is_written_down() -> None:
    """The minimum of 1/2 |w|^2 + C sum c_i max(0, 1 - y_i w.x_i)^2, found by another way."""
    from scipy.optimize import minimize

    decisions = {0: True, 1: True, 3: False, 4: False, 5: False}
    rows, _ = text_features(RECORDS)
    x = np.hstack([rows[list(decisions)].toarray(), np.ones((5, 1))])  # liblinear's bias is one more column
    y = np.array([1, 1, -1, -1, -1])
    weights = np.where(y > 0, 1, 2 / (9.8 * 3))
    weights = weights * 5 / weights.sum()

    def loss(w: np.ndarray) -> float:
        return float(0.5 * w @ w + 0.11 * (weights * np.maximum(0, 1 - y * (x @ w)) ** 2).sum())

    best = minimize(loss, np.zeros(x.shape[1]), tol=1e-10).x
    expected = np.hstack([rows.toarray(), np.ones((6, 1))]) @ best
    assert Learner(RECORDS).scores(decisions) == pytest.approx(expected, abs=1e-3)


def test_records_with_no_words_are_refused() -> None:
    with pytest.raises(RankwellError, match="expected texts with words, found 2 without any"):
        Learner(["", " "], "asthma").scores({})


def test_one_record_is_enough() -> None:
    assert Learner(["asthma inhaler"], "asthma").scores({})[0] > 0


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(MissingExtraError, match=r"screening needs .* pip install 'rankwell\[reviews\]'"):
        Learner(RECORDS, "asthma").scores({})


@pytest.mark.parametrize("place", [-1, 6])
def test_a_decision_about_no_record_is_refused(place: int) -> None:
    with pytest.raises(ParameterError, match=rf"decisions: expected records from 0 to 5, found {place}"):
        Learner(RECORDS).scores({place: True})


@pytest.mark.parametrize(("name", "value"), [("title", -1), ("penalty", 0), ("ratio", -2)])
def test_impossible_parameters_are_refused(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"{name}: expected"):
        Learner(RECORDS, **{name: value})
