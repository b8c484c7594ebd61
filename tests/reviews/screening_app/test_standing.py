"""Where a reviewer stands."""

from __future__ import annotations

from rankwell.apps.screening.screening_pages import Standing
from rankwell.reviews.screening.ranking import Order


def test_a_record_that_was_taken_back_is_the_next_one_whatever_the_ranking_says() -> None:
    standing = Standing({}, frozenset({4}), Order((6, 3, 4, 5), learned=2))
    assert standing.waiting == [6, 3, 5]
    again = standing.beginning_with(3)
    assert again.waiting == [3, 6, 5]
    assert again.neighbours(3) == (None, 6)
