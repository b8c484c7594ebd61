from __future__ import annotations

import random
from collections import Counter

import pytest
from small_studies import Clock, grade_all, join, make_study, work_of

from rankwell.judging.assignment import choose_sets
from rankwell.judging.study import NotThereError, PausedError, Study

BEGUN = {1: 1, 2: 2, 3: 1, 4: 2, 5: 2, 6: 1, 7: 1}
FRESH = range(100, 120)


def sets(begun: dict[int, int], fresh, seed: int = 0, **settings) -> list[list[int]]:
    return choose_sets(Study("A study", **settings), begun, fresh, random.Random(seed))  # noqa: S311 -- the same every time


@pytest.mark.parametrize("seed", range(20))
def test_the_first_set_is_always_of_begun_queries(seed: int) -> None:
    first, second = sets(BEGUN, FRESH, seed)
    assert set(first) <= set(BEGUN)
    assert set(second) <= set(BEGUN) or set(second) <= set(FRESH)
    assert len(set(first) | set(second)) == 6


def test_the_second_set_is_of_new_queries_half_of_the_time() -> None:
    explored = sum(set(sets(BEGUN, FRESH, seed)[1]) <= set(FRESH) for seed in range(1000))
    assert 450 < explored < 550


@pytest.mark.parametrize(("exploration", "explored"), [(0.0, 0), (1.0, 100)])
def test_a_study_may_never_or_always_explore(exploration: float, explored: int) -> None:
    found = [sets(BEGUN, FRESH, seed, exploration=exploration)[1] for seed in range(100)]
    assert sum(set(second) <= set(FRESH) for second in found) == explored


def test_queries_nearest_to_completion_come_first() -> None:
    for seed in range(20):
        assert set(sets(BEGUN, FRESH, seed)[0]) == {2, 4, 5}


def test_equally_near_queries_come_in_random_order() -> None:
    firsts = {tuple(sets(dict.fromkeys(range(50), 1), [], seed)[0]) for seed in range(20)}
    assert len(firsts) > 15


def test_the_other_kind_fills_a_set_up() -> None:
    first, second = sets({1: 1}, [100, 101, 102, 103], exploration=1.0)
    assert first[0] == 1
    assert set(first[1:]) | set(second) == {100, 101, 102, 103}


def test_sets_shrink_where_there_is_too_little_left() -> None:
    assert sets({}, [100, 101]) in ([[100, 101]], [[101, 100]])
    assert sets({}, []) == []


def test_a_study_chooses_how_many_sets_of_which_size() -> None:
    assert [len(chosen) for chosen in sets(BEGUN, FRESH, set_size=4, sets_at_once=3)] == [4, 4, 4]


def test_a_new_assessor_gets_two_sets_of_three(address: str, closing) -> None:
    store = closing(make_study(address))
    (name,) = join(store)
    assert store.judging.begin(name)
    work = store.judging.queries(name)
    assert len({query.qid for query in work}) == 6
    assert {(query.round, query.state, query.answered, query.passages) for query in work} == {(1, "open", 0, 3)}


def test_who_asks_twice_gets_no_more(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    (name,) = join(store)
    store.judging.begin(name)
    before = store.judging.queries(name)
    assert store.judging.begin(name)
    assert store.judging.queries(name) == before


def test_who_goes_on_gets_two_more_sets_and_no_query_twice(address: str, closing) -> None:
    store = closing(make_study(address, queries=12))
    (name,) = join(store)
    for rounds in (1, 2):
        assert store.judging.begin(name)
        assert grade_all(store, name) == 6 * 3
        work = store.judging.queries(name)
        assert len({query.qid for query in work}) == len(work) == 6 * rounds
        assert {query.round for query in work} == set(range(1, rounds + 1))
    assert not store.judging.begin(name), "there is no query that this assessor has not had"


def test_no_query_gets_more_assessors_than_asked_for(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address, queries=10, assessors_per_query=2))
    names = join(store, 5)
    got = [store.judging.begin(name) for name in names]
    counts = Counter(qid for work in work_of(store).values() for qid in work)
    assert set(counts.values()) == {2}
    assert sum(counts.values()) == 20
    assert got == [True, True, True, True, False]


def test_queries_and_passages_come_in_an_order_of_their_own_for_each_assessor(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address, queries=6, passages=8))
    orders, passages = set(), set()
    for name in join(store, 3):
        store.judging.begin(name)
        orders.add(tuple(query.qid for query in store.judging.queries(name)))
        task = store.judging.task(name)
        passages.add(tuple(store.judging.task(name, task.assignment, place).docno for place in range(1, 9)))
    assert len(orders) == 3
    assert len(passages) == 3
    assert {tuple(sorted(order)) for order in passages} == {tuple(f"d{number}" for number in range(1, 9))}


def test_work_that_lies_idle_goes_to_others(sqlite_address: str, closing, clock: Clock) -> None:
    store = closing(make_study(sqlite_address, queries=6, clock=clock, assessors_per_query=1, release_after_days=14))
    away, other = join(store, 2)
    store.judging.begin(away)
    task = store.judging.task(away)
    store.judging.give(away, task.assignment, task.position, 4)
    assert not store.judging.begin(other)
    clock.forward(days=13)
    assert not store.judging.begin(other)
    clock.forward(days=2)
    assert store.judging.begin(other)
    assert len(store.judging.queries(other)) == 6
    assert len(store.grades()) == 1, "what was graded stays"
    with pytest.raises(NotThereError):
        store.judging.give(away, task.assignment, task.position, 5)
    assert not store.judging.begin(away), "others have taken all of it"


def test_who_comes_back_gets_what_others_have_not_taken(sqlite_address: str, closing, clock: Clock) -> None:
    store = closing(make_study(sqlite_address, queries=9, clock=clock, assessors_per_query=1))
    away, other = join(store, 2)
    store.judging.begin(away)
    had = {query.qid for query in store.judging.queries(away)}
    clock.forward(days=15)
    store.judging.begin(other)
    taken = {query.qid for query in store.judging.queries(other)}
    assert store.judging.begin(away)
    assert {query.qid for query in store.judging.queries(away)} == had - taken


def test_a_paused_assessor_does_nothing_and_their_open_work_goes_to_others(address: str, closing) -> None:
    store = closing(make_study(address, queries=6, assessors_per_query=1))
    paused, other = join(store, 2)
    store.judging.begin(paused)
    store.people.pause(paused)
    with pytest.raises(PausedError):
        store.judging.begin(paused)
    with pytest.raises(PausedError):
        store.judging.task(paused)
    assert store.judging.begin(other)
    assert len(store.judging.queries(other)) == 6


@pytest.mark.slow
def test_thirty_seven_assessors_over_six_hundred_queries_come_out_as_in_the_thesis(
    sqlite_address: str, closing, clock: Clock
) -> None:
    """As there: most assessors did the six queries asked for, 125 queries were assessed, 42 of them by three."""
    store = closing(make_study(sqlite_address, queries=600, passages=1, clock=clock, seed=7))
    lots = random.Random(7)  # noqa: S311 -- the same every time
    complete, done = [], Counter()
    for place, name in enumerate(join(store, 37)):
        rounds = lots.choices([1, 2, 4], [27, 7, 3])[0]
        for _ in range(rounds):
            store.judging.begin(name)
            grade_all(store, name)
        done[len(store.judging.queries(name))] += 1
        if place % 6 == 0:  # the last one too
            progress = store.progress()
            complete.append(progress.complete)
    assert done.most_common(1)[0][0] == 6
    assert max(query.done for query in progress.queries) == 3
    by_assessors = Counter(query.done for query in progress.queries if query.done)
    assert by_assessors[3] > by_assessors[1] + by_assessors[2], "queries with three assessors accumulate first"
    assert complete == sorted(complete)
    assert by_assessors[3] >= 42
    assert 80 < sum(by_assessors.values()) < 200
