from __future__ import annotations

import pytest

from rankwell.core import RankwellError
from rankwell.report.pictures import differences, spread


def test_differences_are_said_in_words_too() -> None:
    picture = differences([0.2, -0.1, 0.0, 0.5], title="new against old", y="nDCG@10")
    assert picture.alt == (
        "new against old: 2 queries are better, 1 worse, 1 the same; the mean difference, a dashed line, is 0.15."
    )


def test_a_lower_value_can_be_the_better_one() -> None:
    assert "1 queries are better, 2 worse" in differences([-3, 1, 2], title="t", y="MFR@10", better=-1).alt


@pytest.mark.parametrize("count", [1, 50, 1000])
def test_any_number_of_queries_can_be_drawn(count: int) -> None:
    assert "<svg" in differences([0.1] * count, title="t", y="y").svg()


def test_no_differences_are_a_mistake() -> None:
    with pytest.raises(RankwellError, match="a finite difference for every query"):
        differences([], title="t", y="y")


def test_spread_shows_the_groups_that_have_numbers() -> None:
    picture = spread({"relevant": [1.0, 2.0], "not relevant": [0.0, 0.0, 1.0], "nobody": []}, title="Scores", x="score")
    assert picture.alt == "Scores: relevant median 1.5; not relevant median 0."
    assert "nobody" not in picture.svg()


def test_equal_scores_can_be_drawn_and_nothing_cannot() -> None:
    assert "<svg" in spread({"a": [1.0, 1.0]}, title="t", x="x").svg()
    with pytest.raises(RankwellError, match="at least one number"):
        spread({"a": []}, title="t", x="x")
