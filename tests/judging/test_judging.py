from __future__ import annotations

import pytest
from small_studies import Clock, grade_all, join, make_study

from rankwell.core import ParameterError
from rankwell.judging import open_study
from rankwell.judging.judging import Answer
from rankwell.judging.study import NoConsentError, NotThereError


def given(store) -> dict[str, int | None]:
    """The grades in force by query and passage."""
    grades = store.grades()
    return {
        f"{qid} {docno}": grade for qid, docno, grade in zip(grades.qids, grades.docnos, grades.grades, strict=True)
    }


def test_passages_come_one_after_the_other_until_all_are_graded(address: str, closing) -> None:
    store = closing(make_study(address, passages=3))
    (name,) = join(store)
    assert store.judging.task(name) is None
    store.judging.begin(name)
    seen = []
    for number in range(18):
        task = store.judging.task(name)
        assert (task.query_number, task.queries, task.position) == (number // 3 + 1, 6, number % 3 + 1)
        assert task.answered == number % 3
        assert task.query == f"question {task.qid[1:]}"
        assert task.passage == {"text": f"text of {task.docno}"}
        done = store.judging.give(name, task.assignment, task.position, number % 5 + 1).done
        assert done == (number % 3 == 2)
        seen.append((task.qid, task.docno, number % 5 + 1))
    assert store.judging.task(name) is None
    assert sorted(zip(store.grades().qids, store.grades().docnos, store.grades().grades, strict=True)) == sorted(seen)


def test_a_grade_must_be_on_the_scale_or_none(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    (name,) = join(store)
    store.judging.begin(name)
    task = store.judging.task(name)
    for wrong in (0, 6, -1):
        with pytest.raises(ParameterError, match="grade: expected one of 1, 2, 3, 4, 5"):
            store.judging.give(name, task.assignment, task.position, wrong)
    store.judging.give(name, task.assignment, task.position, None)
    assert list(given(store).values()) == [None]
    assert store.judging.task(name).answers[0] == Answer(None)


def test_the_newest_grade_of_a_passage_counts(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    (name,) = join(store)
    store.judging.begin(name)
    task = store.judging.task(name)
    for grade in (1, 5, None, 4):
        store.judging.give(name, task.assignment, task.position, grade)
    assert list(given(store).values()) == [4]


def test_undo_brings_the_grade_before_back_and_then_removes_it(address: str, closing) -> None:
    store = closing(make_study(address))
    (name,) = join(store)
    store.judging.begin(name)
    first = store.judging.task(name)
    store.judging.give(name, first.assignment, 1, 1)
    store.judging.give(name, first.assignment, 1, 5)
    store.judging.give(name, first.assignment, 2, 3)
    assert store.judging.undo(name).position == 2
    assert list(given(store).values()) == [5]
    back = store.judging.undo(name)
    assert (back.position, back.answer) == (1, Answer(1))
    assert list(given(store).values()) == [1]
    assert store.judging.undo(name).answer is None
    assert given(store) == {}
    assert store.judging.undo(name) is None


def test_undo_opens_a_finished_query_again(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address, passages=2))
    (name,) = join(store)
    store.judging.begin(name)
    grade_all(store, name)
    assert store.judging.task(name) is None
    task = store.judging.undo(name)
    assert store.judging.task(name) == task
    assert store.judging.queries(name)[-1].state == "open"
    store.judging.give(name, task.assignment, task.position, 2)
    assert {query.state for query in store.judging.queries(name)} == {"done"}


def test_undo_does_not_reach_into_earlier_rounds(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address, queries=12, passages=1))
    (name,) = join(store)
    store.judging.begin(name)
    grade_all(store, name)
    store.judging.begin(name)
    assert store.judging.undo(name) is None
    assert len(store.grades()) == 6


def test_the_same_answer_again_changes_nothing(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    (name,) = join(store)
    store.judging.begin(name)
    task = store.judging.task(name)
    for _ in range(3):
        store.judging.give(name, task.assignment, task.position, 4)
    store.judging.undo(name)
    assert given(store) == {}


def test_any_place_can_be_looked_at_and_graded_anew(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address, passages=3))
    (name,) = join(store)
    store.judging.begin(name)
    first = store.judging.task(name)
    store.judging.give(name, first.assignment, 1, 2)
    again = store.judging.task(name, first.assignment, 1)
    assert (again.docno, again.answer) == (first.docno, Answer(2))
    assert store.judging.task(name, first.assignment, 3).answer is None
    assert store.judging.task(name).position == 2
    for wrong in (0, 4, -1):
        with pytest.raises(NotThereError):
            store.judging.give(name, first.assignment, wrong, 2)
    with pytest.raises(NotThereError):
        store.judging.task(name, first.assignment, 4)


def test_nobody_touches_the_work_of_others(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    mine, other = join(store, 2)
    for name in (mine, other):
        store.judging.begin(name)
    theirs = store.judging.task(other)
    for attempt in (
        lambda: store.judging.give(mine, theirs.assignment, theirs.position, 1),
        lambda: store.judging.task(mine, theirs.assignment, 1),
        lambda: store.judging.note(mine, theirs.assignment, 1, "hello"),
    ):
        with pytest.raises(NotThereError):
            attempt()
    assert len(store.grades()) == 0


def test_nobody_judges_before_agreeing_to_the_terms(sqlite_address: str, closing) -> None:
    store = closing(make_study(sqlite_address))
    name = store.invitations.redeem(store.invitations.invite(), "::1").account.name
    with pytest.raises(NoConsentError):
        store.judging.begin(name)


def test_a_note_stays_with_the_passage_whatever_the_grade(address: str, closing) -> None:
    store = closing(make_study(address))
    (name,) = join(store)
    store.judging.begin(name)
    task = store.judging.task(name)
    store.judging.give(name, task.assignment, 1, 3, note=" half of it \0 is cut off ")
    store.judging.give(name, task.assignment, 1, 4)
    store.judging.undo(name)
    assert store.judging.task(name, task.assignment, 1).note == "half of it \ufffd is cut off"
    store.judging.note(name, task.assignment, 1, "")
    assert store.judging.task(name, task.assignment, 1).note == ""
    with pytest.raises(ParameterError, match="at most 10,000 characters"):
        store.judging.note(name, task.assignment, 1, "x" * 10_001)


def test_the_time_for_a_passage_runs_from_when_it_was_shown(sqlite_address: str, closing, clock: Clock) -> None:
    store = closing(make_study(sqlite_address, clock=clock))
    (name,) = join(store)
    store.judging.begin(name)
    task = store.judging.task(name)
    clock.forward(seconds=12)
    store.judging.give(name, task.assignment, 1, 3)
    clock.forward(seconds=7)
    store.judging.give(name, task.assignment, 2, 3)
    clock.forward(hours=9)  # a night's sleep
    store.judging.task(name)
    clock.forward(seconds=4)
    store.judging.give(name, task.assignment, 3, 3)
    assert sorted(store.grades().seconds) == [4.0, 7.0, 12.0]


def test_the_browser_may_count_less_but_not_more_time(sqlite_address: str, closing, clock: Clock) -> None:
    store = closing(make_study(sqlite_address, clock=clock))
    (name,) = join(store)
    store.judging.begin(name)
    task = store.judging.task(name)
    for position, counted in ((1, 1500), (2, 10**9), (3, -5)):
        clock.forward(seconds=10)
        store.judging.give(name, task.assignment, position, 3, milliseconds=counted)
    assert sorted(store.grades().seconds) == [1.5, 10.0, 10.0]


def test_whoever_pauses_finds_everything_as_it_was(address: str) -> None:
    with make_study(address) as store:
        (name,) = join(store)
        store.judging.begin(name)
        task = store.judging.task(name)
        store.judging.give(name, task.assignment, task.position, 3)
        before = store.judging.task(name)
    with open_study(address) as elsewhere:
        assert elsewhere.judging.task(name) == before
        assert elsewhere.study == store.study
