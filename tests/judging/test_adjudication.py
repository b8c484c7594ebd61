"""Grades that differ: who sees them, who decides, and what becomes of the decision."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_studies import join, make_study

from rankwell.core import Judgments, ParameterError
from rankwell.judging.export import Adjudicated, exported, write_export
from rankwell.judging.grades import Grades, gather
from rankwell.judging.labels import LabelRules, make_labels
from rankwell.judging.store import Store
from rankwell.judging.study import AssessError, NotThereError, PausedError

GIVEN = {"d1": (5, 1), "d2": (3, 4), "d3": (2, 2)}  # by two assessors


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    """Two assessors have graded three passages of one query: far apart, close, and alike."""
    with make_study(address, queries=1, passages=3, assessors_per_query=2) as made:
        names = join(made, 2)
        for place, name in enumerate(names):
            made.judging.begin(name)
            while task := made.judging.task(name):
                note = f"note of {place}" if task.docno == "d1" else None
                made.judging.give(name, task.assignment, task.position, GIVEN[task.docno][place], note=note)
        yield made


@pytest.fixture
def third(store: Store) -> str:
    (name,) = join(store)
    store.people.make_adjudicator(name, by="boss")
    return name


def place(store: Store, name: str, docno: str = "d1") -> tuple[int, int]:
    (case,) = [case for case in store.adjudication.queue(name) if case.docno == docno]
    return case.query_id, case.passage_id


def test_passages_whose_grades_differ_wait_in_a_queue_the_furthest_apart_first(store: Store, third: str) -> None:
    cases = store.adjudication.queue(third)
    assert [(case.qid, case.docno, case.spread) for case in cases] == [("q1", "d1", 4), ("q1", "d2", 1)]
    assert sorted((one.grade, one.note) for one in cases[0].grades) == [(1, "note of 1"), (5, "note of 0")]
    assert [case.docno for case in store.adjudication.queue(third, least=2)] == ["d1"]


def test_a_query_comes_up_when_it_has_its_assessors(address: str) -> None:
    with make_study(address, queries=1, passages=1, assessors_per_query=3) as made:
        boss = made.invitations.redeem(made.invitations.invite(administrator=True), "10.0.0.2").account.name
        for grade, name in enumerate(join(made, 3), 1):
            assert made.adjudication.queue(boss) == []
            made.judging.begin(name)
            task = made.judging.task(name)
            made.judging.give(name, task.assignment, task.position, grade)
        assert [case.docno for case in made.adjudication.queue(boss)] == ["d1"]


def test_a_third_person_decides_and_all_grades_stay(store: Store, third: str) -> None:
    query, passage = place(store, third)
    before = [row.grade for row in store.answers()]
    store.adjudication.decide(third, query, passage, 4, note=" the title says it\n")
    assert [row.grade for row in store.answers()] == before
    assert {row.adjudicated for row in store.answers() if row.docno == "d1"} == {4}
    assert {row.adjudicated for row in store.answers() if row.docno != "d1"} == {None}
    (decided,) = store.adjudications()
    assert decided[:4] == ("q1", "d1", third, 4)
    assert decided.note == "the title says it"
    assert [(case.docno, case.decided is None) for case in store.adjudication.queue(third)] == [
        ("d2", True),
        ("d1", False),
    ]
    store.adjudication.decide(third, query, passage, 5)
    assert [one.grade for one in store.adjudications()] == [5]
    store.adjudication.withdraw(third, query, passage)
    assert store.adjudications() == []
    kinds = [event.kind for event in store.people.events()]
    assert kinds[:3] == ["adjudication withdrawn", "adjudicated", "adjudicated"]


def test_whoever_graded_does_not_decide_and_does_not_see(store: Store, third: str) -> None:
    query, passage = place(store, third)
    grader = store.answers()[0].assessor
    with pytest.raises(NotThereError, match="expected somebody who may decide"):
        store.adjudication.queue(grader)
    store.people.make_adjudicator(grader)
    assert store.adjudication.queue(grader) == []
    with pytest.raises(NotThereError, match="expected one whose grades differ"):
        store.adjudication.one(grader, query, passage)
    store.people.make_administrator(grader)  # who sees every grade
    assert all(case.mine for case in store.adjudication.queue(grader))
    with pytest.raises(AssessError, match="you were given this query yourself"):
        store.adjudication.decide(grader, query, passage, 4)
    store.people.pause(third)
    with pytest.raises(PausedError):
        store.adjudication.decide(third, query, passage, 4)
    assert store.adjudications() == []


def test_whoever_decided_is_not_given_the_query(address: str) -> None:
    with make_study(address, queries=1, passages=1, assessors_per_query=2) as made:
        first, second, judge, other = join(made, 4)
        for name, grade in ((first, 1), (second, 5)):
            made.judging.begin(name)
            task = made.judging.task(name)
            made.judging.give(name, task.assignment, task.position, grade)
        made.people.make_adjudicator(judge)
        made.adjudication.decide(judge, *place(made, judge), 3)
        made.judging.undo(first)
        made.people.pause(first)  # a place is free again
        assert not made.judging.begin(judge)
        assert made.judging.begin(other)


@pytest.mark.parametrize("docno", ["d3", "d9"])
def test_only_what_differs_is_decided(store: Store, third: str, docno: str) -> None:
    query, passage = place(store, third)
    with pytest.raises(NotThereError, match="expected one whose grades differ"):
        store.adjudication.decide(third, query, {"d3": passage + 2, "d9": 999}[docno], 4)
    with pytest.raises(ParameterError, match="grade: expected one of 1, 2, 3, 4, 5, found 6"):
        store.adjudication.decide(third, query, passage, 6)


def test_two_who_decide_at_once_do_not_overwrite_each_other(store: Store, third: str) -> None:
    (fourth,) = join(store)
    store.people.make_adjudicator(fourth)
    query, passage = place(store, third)

    def decide(name: str, grade: int) -> str:
        try:
            store.adjudication.decide(name, query, passage, grade, seen=0)
        except AssessError as error:
            return str(error)
        return "saved"

    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(decide, (third, fourth), (2, 4)))
    assert sorted(said) == ["saved", "somebody else has decided this passage meanwhile; look at it again"]
    assert [one.grade for one in store.adjudications()] == [(2, 4)[said.index("saved")]]


@pytest.mark.parametrize("keep", [True, False])
def test_a_deleted_adjudicators_words_go_and_the_grade_as_the_study_says(tmp_path: Path, *, keep: bool) -> None:
    with make_study(tmp_path / "s.db", queries=1, passages=1, assessors_per_query=2, keep_grades=keep) as made:
        first, second, judge = join(made, 3)
        for name, grade in ((first, 1), (second, 5)):
            made.judging.begin(name)
            task = made.judging.task(name)
            made.judging.give(name, task.assignment, task.position, grade)
        made.people.make_adjudicator(judge)
        made.adjudication.decide(judge, *place(made, judge), 3, note="I am Ada")
        made.people.delete(judge)
        found = [(one.adjudicator == judge, one.grade, one.note) for one in made.adjudications()]
        assert found == ([(False, 3, "")] if keep else [])


def test_every_single_grade_is_there_for_an_administrator(store: Store, third: str) -> None:
    query, passage = place(store, third)
    store.adjudication.decide(third, query, passage, 4)
    shown = {case.docno: sorted(one.grade for one in case.grades) for case in store.adjudication.grades_of(query)}
    assert shown == {"d1": [1, 5], "d2": [3, 4], "d3": [2, 2]}
    assert store.adjudication.grades_of(99) == []


ROWS = [("q1", "d1", "a", 5), ("q1", "d1", "b", 1), ("q1", "d1", "c", 1), ("q1", "d2", "a", 2), ("q1", "d2", "b", None)]


def test_the_adjudicated_grade_makes_the_label() -> None:
    plain = Grades.of(ROWS)
    rules = LabelRules(assessors=2, complete=0)
    before = make_labels(plain, None, rules)
    assert (before.graded["q1"]["d1"], before.binary["strict"]["q1"]["d1"], before.adjudicated) == (1, 0, 0)
    decided = Grades.of([(*row, None, None, 4 if row[1] == "d1" else None) for row in ROWS])
    after = make_labels(decided, None, rules)
    assert dict(after.graded["q1"]) == {"d1": 4, "d2": 2}
    assert {name: of["q1"]["d1"] for name, of in after.binary.items()} == {"liberal": 1, "strict": 1}
    assert "1 label was decided by an adjudicator, and not by the rules" in list(after.notes())


def test_a_query_is_confirmed_by_the_adjudicated_grade() -> None:
    known = Judgments([("q1", "d1", 1)])
    rules = LabelRules(assessors=2, complete=0)
    assert make_labels(Grades.of(ROWS), known, rules).kept == ()
    decided = Grades.of([(*row, None, None, 4 if row[1] == "d1" else None) for row in ROWS])
    assert make_labels(decided, known, rules).kept == ("q1",)


@pytest.mark.parametrize("kind", ["tsv", "csv", "json"])
def test_exports_carry_the_adjudicated_grade(store: Store, third: str, tmp_path: Path, kind: str) -> None:
    store.adjudication.decide(third, *place(store, third), 4, note="=HYPERLINK(1)")
    write_export(tmp_path / f"answers.{kind}", store.answers())
    gathered = gather(tmp_path / f"answers.{kind}")
    assert gathered.grades == store.grades()
    labels = make_labels(gathered.grades, None, LabelRules(assessors=2))
    assert labels.graded["q1"]["d1"] == 4
    text = exported(store.adjudications(), kind, Adjudicated)
    assert ('"=HYPER' in text) == (kind == "json")
    assert ("'=HYPER" in text) == (kind != "json")
