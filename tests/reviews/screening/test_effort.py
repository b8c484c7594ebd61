"""What a ranking saves: by hand, by the definition, and beside ASReview's own measure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError
from rankwell.reviews.screening import Effort
from rankwell.reviews.screening.effort import recall_curve, wss


def labels(text: str) -> np.ndarray:
    return np.array([letter == "1" for letter in text])


def test_work_saved_is_counted_by_hand() -> None:
    # 4 relevant of 10; 95 % of 4 are all 4, the last of which stands at place 7: 3 of 10 need not be looked at.
    assert wss(labels("1101001000"), 0.95) == pytest.approx(0.3 - 0.05)
    assert wss(labels("1101001000"), 1.0) == pytest.approx(0.3)
    # Half of 4 are 2, at place 2: 8 of 10 are saved, of which chance would have saved 5.
    assert wss(labels("1101001000"), 0.5) == pytest.approx(0.8 - 0.5)


def test_exactly_95_percent_of_20_are_19() -> None:
    found = labels("1" * 19 + "0" * 80 + "1")
    assert wss(found, 0.95) == pytest.approx(1 - 0.19 - 0.05)
    assert wss(found, 1.0) == 0


def test_recall_at_a_share_counts_whole_records() -> None:
    effort = Effort(labels("1101001000"))
    assert [effort.recall_at(share) for share in (0, 0.1, 0.2, 0.29, 0.3, 1)] == [0, 0.25, 0.5, 0.5, 0.5, 1]
    assert Effort(labels("0" * 99 + "1")).recall_at(0.99) == 0


def test_time_to_discovery_is_the_mean_place() -> None:
    assert Effort(labels("1101001000")).discovery == pytest.approx((1 + 2 + 4 + 7) / 4 / 10)


def test_the_recall_curve_begins_at_nothing_and_ends_at_all() -> None:
    assert recall_curve(labels("0110")).tolist() == [0, 0, 0.5, 1, 1]


@pytest.mark.parametrize(("order", "loss"), [("1101001000", 1 / 6), ("00101", 5 / 6), ("01100001", 7 / 15)])
def test_time_to_discovery_agrees_with_asreviews_loss(order: str, loss: float) -> None:
    """`loss` is what asreview.metrics.loss (3.0.8) gives: the time to discovery, scaled from the best to the worst."""
    found = labels(order)
    relevant, total = int(found.sum()), len(found)
    places = Effort(found).discovery * total * relevant
    assert (places - relevant * (relevant + 1) / 2) / (relevant * (total - relevant)) == pytest.approx(loss)


@pytest.mark.parametrize("recall", [0, 1.01, -1, float("nan")])
def test_an_impossible_recall_is_refused(recall: float) -> None:
    with pytest.raises(ParameterError, match="recall: expected a number above 0, at most 1"):
        wss(labels("10"), recall)


def test_an_impossible_share_is_refused() -> None:
    with pytest.raises(ParameterError, match="share: expected a number from 0 to 1"):
        Effort(labels("10")).recall_at(1.5)


def test_nothing_to_find_cannot_be_measured() -> None:
    with pytest.raises(ParameterError, match="one relevant record or more, found none"):
        Effort(labels("000"))


@given(st.lists(st.booleans(), min_size=1, max_size=60).filter(any), st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_work_saved_is_the_smallest_effort_that_reaches_the_recall(answers: list[bool], recall: float) -> None:
    found = np.array(answers)
    curve = recall_curve(found)
    needed = next(looked for looked in range(len(answers) + 1) if curve[looked] >= recall - 1e-9)
    assert wss(found, recall) == pytest.approx(1 - needed / len(answers) - (1 - recall))


@given(st.integers(1, 20), st.integers(1, 40))
def test_no_order_saves_more_than_the_perfect_one(relevant: int, others: int) -> None:
    best = Effort(np.array([True] * relevant + [False] * others))
    worst = Effort(np.array([False] * others + [True] * relevant))
    assert best.wss(1) == pytest.approx(others / (relevant + others))
    assert worst.wss(1) == 0
    assert best.discovery < worst.discovery
