"""Which pairs a loss over lists sees together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwell.models.learning.pair_batches import query_lists, single_pairs


def lists(groups: list[int], labels: list[float], size: int) -> list[list[int]]:
    return [rows.tolist() for rows in query_lists(np.array(groups), np.array(labels), size)]


def test_the_documents_of_a_query_stand_together_best_first() -> None:
    assert lists([0, 1, 0, 1], [0, 1, 1, 0], 8) == [[2, 0], [1, 3]]


def test_a_long_list_is_dealt_out_with_something_relevant_in_each() -> None:
    assert lists([5] * 6, [1, 1, 0, 0, 0, 0], 3) == [[0, 2, 4], [1, 3, 5]]


def test_a_list_with_nothing_to_tell_apart_is_left_out() -> None:
    assert lists([0, 0, 1, 1], [1, 1, 0, 1], 8) == [[3, 2]]
    assert lists([0, 1], [1, 0], 8) == []


def test_single_pairs_are_lists_of_one() -> None:
    assert [rows.tolist() for rows in single_pairs(3)] == [[0], [1], [2]]


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 1.0, 2.0])), max_size=40), st.integers(2, 9))
def test_lists_hold_each_pair_at_most_once_and_never_two_queries(rows: list[tuple[int, float]], size: int) -> None:
    groups, labels = [group for group, _ in rows], [label for _, label in rows]
    found = lists(groups, labels, size)
    flat = [row for part in found for row in part]
    assert len(flat) == len(set(flat))
    for part in found:
        assert len(part) <= size
        assert len({groups[row] for row in part}) == 1
        assert len({labels[row] for row in part}) > 1
