from __future__ import annotations

import math

import numpy as np
import pytest

from rankwell.core import ParameterError
from rankwell.evaluation.significance import TTest, too_few_queries
from rankwell.evaluation.significance.paired import detectable_difference, smallest_p
from rankwell.evaluation.significance.resampling import Randomization


@pytest.mark.parametrize("queries", [0, 1, 2, 5, 9, 14])
def test_no_result_of_the_randomisation_test_is_below_the_smallest_p(queries: int) -> None:
    assert Randomization()(np.ones(queries), np.zeros(queries)).p == smallest_p(queries)


def test_five_queries_cannot_give_a_verdict_and_people_are_told() -> None:
    assert too_few_queries(5) == (
        "5 queries are too few for a verdict: even if one system won every time, "
        "the randomisation test could not go below p = 0.062."
    )


def test_many_comparisons_need_more_queries() -> None:
    assert too_few_queries(10) is None
    assert too_few_queries(6980, comparisons=40) is None
    assert "could not go below p = 0.078, corrected for 40 comparisons" in (too_few_queries(10, comparisons=40) or "")


def test_six_to_nine_queries_give_hints() -> None:
    assert (too_few_queries(6) or "").startswith("6 queries are few")
    assert (too_few_queries(9) or "").startswith("9 queries are few")


def test_no_query_and_one_query_have_their_own_words() -> None:
    assert too_few_queries(0) == "There is no query to compare on."
    assert (too_few_queries(1) or "").startswith("1 query is too few")


def test_with_a_power_of_one_half_the_detectable_difference_is_the_half_width() -> None:
    rng = np.random.default_rng(4)
    ours, theirs = rng.random(30), rng.random(30)
    assert detectable_difference(ours, theirs, power=0.5) == pytest.approx(TTest()(ours, theirs).interval.half_width)


def test_the_detectable_difference_is_found_as_often_as_promised() -> None:
    rng = np.random.default_rng(5)
    difference = detectable_difference(rng.standard_normal(5000), np.zeros(5000)) * math.sqrt(5000 / 40)
    found = [TTest()(rng.standard_normal(40) + difference, np.zeros(40)).p < 0.05 for _ in range(1000)]
    assert 0.73 <= np.mean(found) <= 0.85


def test_without_spread_or_queries() -> None:
    assert detectable_difference([0.5], [0.4]) == math.inf
    assert detectable_difference([0.5, 0.5], [0.5, 0.5]) == 0
    with pytest.raises(ParameterError, match="power"):
        detectable_difference([0.5], [0.4], power=80)
