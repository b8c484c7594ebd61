"""Figures over starts: means, intervals, curves, and how they are shown."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from rankwell.core import ParameterError
from rankwell.reviews.screening import Effort, LabelledReview, Setting, replay
from rankwell.reviews.screening.figures import ALL, POINTS, Replays, figures_table, recall_pictures, replays_page
from rankwell.reviews.screening.rankers import RANKERS

REVIEWS = [
    LabelledReview(
        topic, topic, [f"{word} text {n}" for n in range(8) for word in (topic, "other")], np.array([True, False] * 8)
    )
    for topic in ("asthma", "fever")
]


def efforts(*orders: str) -> list[Effort]:
    return [Effort(np.array([letter == "1" for letter in order])) for order in orders]


FOUND = Replays(
    {
        ("r1", "a"): efforts("1100", "1010", "0101"),
        ("r1", "b"): efforts("0011", "0011", "0011"),
        ("r2", "a"): efforts("1000", "1000", "1000"),
        ("r2", "b"): efforts("0001", "0010", "0001"),
    }
)


def test_means_and_intervals_are_students() -> None:
    mean, interval = FOUND.figures("r1", "a")["WSS@100"]
    values = [0.5, 0.25, 0.0]
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert (mean, *interval) == pytest.approx((0.25, low, high))


def test_the_mean_of_all_reviews_is_taken_start_by_start() -> None:
    mean, interval = FOUND.figures(ALL, "a")["WSS@100"]
    values = [(0.5 + 0.75) / 2, (0.25 + 0.75) / 2, (0 + 0.75) / 2]
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert (mean, *interval) == pytest.approx((np.mean(values), low, high))


def test_the_recall_level_is_in_the_name() -> None:
    found = Replays({("r", "a"): efforts("1000")}, recall=0.8)
    assert list(found.measures()) == ["WSS@80", "WSS@100", "R@10%", "R@20%", "ATD"]
    assert found.figures("r", "a")["WSS@80"].mean == pytest.approx(0.75 - 0.2)


def test_curves_go_from_nothing_to_all_and_stay_between() -> None:
    curve = FOUND.curve("r1", "a")
    assert len(curve.mean) == len(POINTS) == 101
    assert (curve.mean[0], curve.mean[-1]) == (0, 1)
    assert curve.mean[50] == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert (curve.low >= 0).all()
    assert (curve.high <= 1).all()
    assert (np.diff(curve.mean) >= 0).all()


def test_replays_use_the_same_starts_for_all_rankers() -> None:
    rankers = {name: RANKERS[name](Setting(REVIEWS)) for name in ("learner", "bm25", "random")}
    found = replay(REVIEWS, rankers, count=3)
    assert (found.reviews, found.rankers, found.starts) == (("asthma", "fever"), ("learner", "bm25", "random"), 3)
    assert found.figures(ALL, "learner")["ATD"].mean < found.figures(ALL, "random")["ATD"].mean
    again = replay(REVIEWS, rankers, count=3)
    assert [e.labels.tolist() for e in again.efforts["fever", "random"]] == [
        e.labels.tolist() for e in found.efforts["fever", "random"]
    ]


def test_one_start_has_no_interval() -> None:
    found = Replays({("r", "a"): efforts("1000")})
    assert math.isinf(found.figures("r", "a")["ATD"].interval.high)
    assert figures_table(found).rows[0][2] == "0.700"
    assert json.loads(figures_table(found, "json").render("json"))


def test_the_table_has_a_row_for_each_review_and_ranker_and_their_mean() -> None:
    rows = figures_table(FOUND).rows
    assert [row[:2] for row in rows] == [(r, n) for r in ("r1", "r2", ALL) for n in ("a", "b")]
    assert rows[2][3] == "0.750 ±0.000"


def test_programs_get_the_ends_of_the_intervals() -> None:
    table = figures_table(FOUND, "csv")
    assert [column.name for column in table.columns] == ["review", "ranker", "measure", "mean", "low", "high", "starts"]
    assert ("r2", "a", "WSS@100", 0.75, 0.75, 0.75, 3) in table.rows


def test_pictures_and_page_show_every_review() -> None:
    assert list(recall_pictures(FOUND)) == ["r1", "r2", ALL]
    html = replays_page(FOUND, "Two <reviews>", "rankwell review simulate", ["a note & more"]).html()
    assert html.count("<svg") == 3
    assert "Two &lt;reviews&gt;" in html
    assert "a note &amp; more" in html


def test_one_review_has_no_mean_of_all() -> None:
    assert [review for review, _ in Replays({("r", "a"): efforts("1000")}).rows()] == ["r"]


def test_rankers_with_other_starts_cannot_be_compared() -> None:
    with pytest.raises(ParameterError, match="as many efforts for every ranker"):
        Replays({("r", "a"): efforts("10"), ("r", "b"): efforts("10", "01")})


def test_an_impossible_recall_is_refused_before_the_work() -> None:
    with pytest.raises(ParameterError, match="recall: expected a number above 0"):
        replay(REVIEWS, {}, recall=95)
