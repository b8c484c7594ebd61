"""Assessors judge a share of their own passages a second time; the first grade counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_studies import grade_all, join, make_study

from rankwell.core import ParameterError
from rankwell.judging.quality import GoldScore
from rankwell.judging.rejudging import is_chosen
from rankwell.judging.store import Store
from rankwell.judging.study import NotThereError


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with make_study(address, queries=6, passages=2, rejudge=1.0) as made:
        yield made


def again(store: Store, name: str, grade: int | None, most: int = 100) -> int:
    count = 0
    while count < most and (task := store.rejudging.task(name)):
        store.rejudging.give(name, task.assignment, task.position, grade)
        count += 1
    return count


def test_passages_come_again_when_no_query_is_open(store: Store) -> None:
    (name,) = join(store)
    store.judging.begin(name)
    assert store.rejudging.task(name) is None
    assert grade_all(store, name, 3) == 12
    assert store.rejudging.task(name).left == 12
    before = store.answers()
    assert again(store, name, 4, most=8) == 8
    assert store.rejudging.scores() == {name: GoldScore(8, 8)}  # one step beside is the same on a scale of five
    assert again(store, name, 1) == 4
    assert store.rejudging.scores() == {name: GoldScore(12, 8)}
    assert store.answers() == before
    assert store.watch().remarks == ()
    assert store.judging.undo(name) is not None
    assert store.rejudging.scores() == {name: GoldScore(11, 8)}  # without its first grade a second says nothing


def test_whoever_disagrees_with_themselves_is_named(store: Store) -> None:
    (name,) = join(store)
    store.judging.begin(name)
    grade_all(store, name, 5)
    again(store, name, None)
    assert store.watch().again == {name: GoldScore(12, 0)}
    assert (name, "gave 0 of 12 passages the same grade again") in store.watch().remarks


def test_only_what_was_asked_for_is_judged_again_and_once(store: Store) -> None:
    first, second = join(store, 2)
    store.judging.begin(first)
    grade_all(store, first, 3)
    task = store.rejudging.task(first)
    with pytest.raises(NotThereError):
        store.rejudging.give(second, task.assignment, task.position, 3)
    with pytest.raises(NotThereError):
        store.rejudging.give(first, task.assignment, 99, 3)
    with pytest.raises(ParameterError, match="grade: expected one of 1, 2, 3, 4, 5, found 7"):
        store.rejudging.give(first, task.assignment, task.position, 7)
    store.rejudging.give(first, task.assignment, task.position, 3)
    store.rejudging.give(first, task.assignment, task.position, 1)  # the same form, sent again
    assert store.rejudging.scores() == {first: GoldScore(1, 1)}


def test_the_share_is_about_what_was_asked_for() -> None:
    chosen = sum(is_chosen(assignment, position, 0.2) for assignment in range(100) for position in range(20))
    assert 300 < chosen < 500  # of 2,000; by a hash, so always the same
    assert not any(is_chosen(assignment, 1, 0) for assignment in range(100))
    assert all(is_chosen(assignment, 1, 1) for assignment in range(100))
