"""Replays: nothing is shown twice, everything is found, and the figures are those of the order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError
from rankwell.reviews.screening import LabelledReview, Learner, simulate, starts

RECORDS = [f"{topic} study number {n}" for n in range(10) for topic in ("asthma", "fever", "knee", "heart")]
ASTHMA = np.array([record.startswith("asthma") for record in RECORDS])
REVIEW = LabelledReview("r1", "Asthma", RECORDS, ASTHMA)


def of(answers: list[bool]) -> LabelledReview:
    return LabelledReview("made up", "", [""] * len(answers), np.array(answers))


def test_the_best_undecided_record_comes_next() -> None:
    review = of([False, True, False, True, False])
    found = simulate(review, lambda _: np.array([5.0, 1.0, 4.0, 3.0, 2.0]), known=(0, 1))
    assert found.order.tolist() == [2, 3, 4]
    assert found.looked == 2
    assert found.effort.labels.tolist() == [False, True, False]


def test_equal_records_keep_their_order() -> None:
    found = simulate(of([False, False, False, True]), lambda _: np.zeros(4))
    assert found.order.tolist() == [0, 1, 2, 3]


def test_every_answer_is_learned_from_when_asked() -> None:
    seen: list[dict[int, bool]] = []

    def scores(decisions: Mapping[int, bool]) -> np.ndarray:
        seen.append(dict(decisions))
        return -np.arange(60.0)

    simulate(of([False] * 59 + [True]), scores, again=0)
    assert [len(decisions) for decisions in seen] == list(range(60))
    seen.clear()
    simulate(of([False] * 59 + [True]), scores, again=0.1)
    assert [len(decisions) for decisions in seen[-4:]] == [42, 46, 50, 55]


def test_the_learner_finds_the_like_of_what_it_knows() -> None:
    for known in starts(REVIEW, 3):
        assert simulate(REVIEW, Learner(RECORDS, "Asthma").scores, known).effort.wss(1) > 0.7


@given(st.lists(st.booleans(), min_size=3, max_size=40), st.integers(0, 99), st.sampled_from([0, 0.02, 0.3, 1]))
def test_every_record_is_shown_once_and_all_are_found(answers: list[bool], seed: int, again: float) -> None:
    answers = [True, True, False, *answers]
    review = of(answers)
    (known,) = starts(review, 1, seed)
    found = simulate(review, lambda decisions: np.random.default_rng(len(decisions)).random(len(answers)), known, again)
    assert sorted([*found.known, *found.order.tolist()]) == list(range(len(answers)))
    assert review.included[found.order[: found.looked]].sum() == sum(answers) - 1
    assert review.included[found.order[found.looked - 1]]


def test_starts_know_one_included_and_one_excluded_record() -> None:
    drawn = list(starts(REVIEW, 10, seed=3))
    assert all(ASTHMA[included] and not ASTHMA[excluded] for included, excluded in drawn)
    assert len(set(drawn)) > 5
    assert drawn == list(starts(REVIEW, 10, seed=3))
    assert drawn[:4] == list(starts(REVIEW, 4, seed=3))
    assert drawn != list(starts(REVIEW, 10, seed=4))


def test_one_included_record_leaves_nothing_to_find() -> None:
    with pytest.raises(ParameterError, match="two included records or more to start from one, found 1"):
        list(starts(of([True, False, False]), 1))
    with pytest.raises(ParameterError, match="an included record or more left to find"):
        simulate(of([True, False, False]), lambda _: np.zeros(3), known=(0,))


def test_no_start_is_refused() -> None:
    with pytest.raises(ParameterError, match="starts: expected a number from 1, found 0"):
        list(starts(REVIEW, 0))


def test_a_share_of_more_than_all_is_refused() -> None:
    with pytest.raises(ParameterError, match="again: expected a share from 0 to 1"):
        simulate(REVIEW, lambda _: np.zeros(40), again=2)


@pytest.mark.parametrize(
    ("records", "included", "message"),
    [
        (["a"], [True, False], "r: expected an answer for every record, found 1 records, 2 answers"),
        (["a", "b"], [True, True], "r: expected included and excluded records, found 2 of 2 included"),
        (["a", "b"], [False, False], "r: expected included and excluded records, found 0 of 2 included"),
        ([], [], "r: expected included and excluded records, found 0 of 0 included"),
    ],
)
def test_a_review_needs_both_kinds_of_records(records: list[str], included: list[bool], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        LabelledReview("r", "", records, np.array(included, dtype=bool))


def test_a_review_needs_an_id_for_every_record_or_none() -> None:
    with pytest.raises(ParameterError, match="an id for every record, found 2 records, 1 ids"):
        LabelledReview("r", "", ["a", "b"], np.array([True, False]), ["x"])
