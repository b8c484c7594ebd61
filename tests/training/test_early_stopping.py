"""When training stops, and which step is kept."""

from __future__ import annotations

import math

from rankwell.models.learning.settings import best_step, should_stop

RISE_AND_FALL = [(0, 0.9), (10, 0.2), (20, 0.5), (30, 0.4), (40, 0.5)]


def test_the_best_step_is_the_earliest_of_equals_and_never_the_one_before_training() -> None:
    assert best_step(RISE_AND_FALL) == 20
    assert best_step(RISE_AND_FALL, higher_is_better=False) == 10
    assert best_step([(0, 0.9)]) is None


def test_a_value_that_is_no_number_never_wins() -> None:
    assert best_step([(10, math.nan), (20, 0.1), (30, math.nan)]) == 20
    assert best_step([(10, math.nan)]) is None


def test_patience_counts_evaluations_without_a_new_best() -> None:
    assert should_stop(RISE_AND_FALL, 2)
    assert not should_stop(RISE_AND_FALL, 3)
    assert not should_stop(RISE_AND_FALL[:-1], 2)
    assert should_stop(RISE_AND_FALL, 3, higher_is_better=False)


def test_without_patience_nothing_stops() -> None:
    assert not should_stop([(step, 0.0) for step in range(1, 100)], None)


def test_values_that_are_no_numbers_use_patience_up() -> None:
    assert should_stop([(10, math.nan), (20, math.nan)], 2)
