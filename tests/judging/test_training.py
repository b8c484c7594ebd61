"""The training round: feedback, a pass mark, tries, and no queries before it is passed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_studies import join, make_study
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import ParameterError, RankwellError
from rankwell.judging.store import Store
from rankwell.judging.study import NotThereError
from rankwell.judging.training import NotTrainedError, TrainingQuestion, read_training

QUESTIONS = [TrainingQuestion(n, f"query {n}", {"text": f"text {n}"}, 5, f"because {n}") for n in range(1, 5)]


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with make_study(address, queries=6, passages=1, pass_mark=0.75) as made:
        made.training.set_questions(QUESTIONS)
        yield made


def train(store: Store, name: str, grades: list[int | None], attempt: int = 1) -> list[bool]:
    return [store.training.answer(name, attempt, place, grade).right for place, grade in enumerate(grades, 1)]


def test_nobody_gets_queries_before_they_have_passed(store: Store) -> None:
    (name,) = join(store)
    with pytest.raises(NotTrainedError):
        store.judging.begin(name)
    assert train(store, name, [5, 4, 1]) == [True, True, False]  # one step beside it is right on a scale of five
    state = store.training.state(name)
    assert (state.score, state.following.number, state.passed) == ((3, 2), 4, False)
    with pytest.raises(NotTrainedError):
        store.judging.begin(name)
    assert train(store, name, [5, 4, 1, 5])[3]  # three of four
    assert store.training.state(name).passed
    assert store.judging.begin(name)
    assert store.watch().remarks == ()


def test_the_first_answer_counts_and_gets_its_feedback(store: Store) -> None:
    (name,) = join(store)
    first = store.training.answer(name, 1, 1, 2)
    assert (first.grade, first.right, first.question.grade, first.question.why) == (2, False, 5, "because 1")
    assert store.training.answer(name, 1, 1, 5) == first
    assert store.training.feedback(name, 1, 1) == first
    for attempt, number in ((1, 2), (2, 1), (1, 99)):
        with pytest.raises(NotThereError):
            store.training.feedback(name, attempt, number)
    with pytest.raises(NotThereError):
        store.training.answer(name, 2, 1, 5)  # the first attempt is not over
    with pytest.raises(ParameterError, match="grade: expected one of 1, 2, 3, 4, 5, found 9"):
        store.training.answer(name, 1, 2, 9)


def test_there_is_another_try_and_then_a_word_to_the_administrator(store: Store) -> None:
    (name,) = join(store)
    train(store, name, [1, 1, 1, None])
    state = store.training.state(name)
    assert (state.complete, state.passed, state.more_tries) == (True, False, True)
    assert store.training.state(name, again=True).following.number == 1
    assert store.watch().remarks == ()
    train(store, name, [1, 5, 1, 1], attempt=2)
    state = store.training.state(name, again=True)
    assert (state.attempt, state.complete, state.passed, state.more_tries) == (2, True, False, False)
    with pytest.raises(NotThereError):
        store.training.answer(name, 3, 1, 5)
    assert store.watch().remarks == ((name, "did not pass the training: 1 of 4 right"),)
    store.people.delete(name)
    assert store.training.scores() == {}


def test_a_second_try_can_pass(store: Store) -> None:
    (name,) = join(store)
    train(store, name, [1, 1, 1, 1])
    train(store, name, [5, 5, 5, 5], attempt=2)
    assert store.judging.begin(name)


def test_questions_stay_once_somebody_was_trained(store: Store) -> None:
    assert store.training.set_questions(QUESTIONS[:2]) == 2
    assert [one.query for one in store.training.questions()] == ["query 1", "query 2"]
    store.training.answer(*join(store), 1, 1, 5)
    with pytest.raises(RankwellError, match="expected a study in which nobody has been trained yet"):
        store.training.set_questions(QUESTIONS)
    assert len(store.training.questions()) == 2


def test_a_study_without_questions_has_no_training(address: str) -> None:
    with make_study(address, queries=1, passages=1) as made:
        (name,) = join(made)
        assert made.training.state(name).passed
        assert made.judging.begin(name)


def test_questions_come_from_a_table_or_json_lines(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("query,title,text,grade,why\nzinc,Zinc,It helps.,4,It says so.\ncold,,A cold.,1,\n")
    (tmp_path / "t.jsonl").write_text(
        '{"query": "zinc", "title": "Zinc", "text": "It helps.", "grade": 4, "why": "It says so."}\n'
        '{"query": "cold", "text": "A cold.", "grade": 1, "why": null}\n'
    )
    wanted = [
        TrainingQuestion(1, "zinc", {"title": "Zinc", "text": "It helps."}, 4, "It says so."),
        TrainingQuestion(2, "cold", {"text": "A cold."}, 1, ""),
    ]
    assert read_training(tmp_path / "t.csv") == read_training(tmp_path / "t.jsonl") == wanted
    make_study(tmp_path / "study.db").close()
    made = CliRunner().invoke(app, ["assess", "training", str(tmp_path / "study.db"), str(tmp_path / "t.csv")])
    assert made.exit_code == 0
    assert "2 training questions; 70% must be right, in one of 2 tries" in made.output
    for wrong in ("query,grade\nzinc,4\n", "query,text,grade\nzinc,x,high\n", "query,text,grade\n"):
        (tmp_path / "wrong.csv").write_text(wrong)
        with pytest.raises(RankwellError, match=r"wrong\.csv(:2)?: expected"):
            read_training(tmp_path / "wrong.csv")


@pytest.mark.parametrize(("setting", "value"), [("pass_mark", 1.5), ("training_tries", 0)])
def test_settings_are_checked(tmp_path: Path, setting: str, value: float) -> None:
    with pytest.raises(ParameterError, match=setting):
        make_study(tmp_path / "s.db", **{setting: value})
