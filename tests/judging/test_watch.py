"""Gold questions with a running score, and a word to the administrator about assessors who stand out."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_studies import join, make_study
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import Judgments, ParameterError, RankwellError
from rankwell.judging.grades import GivenGrade, Grades
from rankwell.judging.quality import GoldScore, gold_scores, watch

SCALE = (1, 2, 3, 4, 5)
GOLD = Judgments([("q1", f"d{number}", 4) for number in range(10)])
LEVELS = {"liberal": 2, "strict": 3}


def panel(**people: list[tuple[int | None, float]]) -> Grades:
    """Each person's grades and seconds on the passages d0, d1, ... of q1."""
    return Grades.of(
        GivenGrade("q1", f"d{place}", name, grade, seconds)
        for name, given in people.items()
        for place, (grade, seconds) in enumerate(given)
    )


def test_one_step_beside_the_gold_grade_is_right_on_a_fine_scale_only() -> None:
    grades = panel(ann=[(4, 9), (5, 9), (3, 9), (2, 9), (None, 9)])
    assert gold_scores(grades, GOLD, SCALE) == {"ann": GoldScore(5, 3)}
    coarse = panel(ann=[(1, 9), (0, 9)])
    assert gold_scores(coarse, Judgments([("q1", "d0", 1), ("q1", "d1", 1)]), (0, 1)) == {"ann": GoldScore(2, 1)}


def test_whoever_misses_gold_questions_is_named() -> None:
    good, bad = [(4, 9.0)] * 10, [(1, 9.0)] * 6 + [(4, 9.0)] * 4
    found = watch(panel(ann=good, bob=bad), GOLD, SCALE, LEVELS)
    assert ("bob", "4 of 10 gold questions are right") in found.remarks
    assert {remark.assessor for remark in found.remarks} == {"bob"}
    assert watch(panel(ann=good[:4], bob=bad[:4]), GOLD, SCALE, LEVELS).remarks == ()  # too few to tell


def test_whoever_is_much_faster_than_the_others_is_named() -> None:
    grades = panel(ann=[(4, 12.0)] * 10, bob=[(4, 8.0)] * 10, cy=[(4, 1.5)] * 10)
    assert watch(grades, Judgments(), SCALE, LEVELS).remarks == (
        ("cy", "a passage takes 1.5 seconds (median), the others 10.0"),
    )


def test_whoever_agrees_less_than_the_others_is_named() -> None:
    usual = [(4, 9.0), (1, 9.0)] * 6
    contrary = [(1, 9.0), (4, 9.0)] * 6
    grades = panel(ann=usual, bob=usual, cy=usual, dan=contrary)
    (remark,) = watch(grades, Judgments(), SCALE, LEVELS).remarks
    assert remark.assessor == "dan"
    assert "agrees with the majority of the others on 0% of passages (liberal), the others on 100%" in remark.told


def test_gold_questions_are_marked_replaced_and_checked(address: str) -> None:
    with make_study(address, queries=2, passages=3) as store:
        assert store.set_gold(Judgments([("q1", "d1", 5), ("q2", "d3", 1), ("q9", "d1", 2)])) == 2
        assert list(store.gold().rows()) == [("q1", "d1", 5), ("q2", "d3", 1)]
        assert store.set_gold(Judgments([("q1", "d2", 3)])) == 1
        assert list(store.gold().rows()) == [("q1", "d2", 3)]
        with pytest.raises(RankwellError, match="expected gold questions of the pool, found none of them there"):
            store.set_gold(Judgments([("q9", "d1", 2)]))
        with pytest.raises(ParameterError, match="gold: expected grades among 1, 2, 3, 4, 5, found 0"):
            store.set_gold(Judgments([("q1", "d1", 0)]))
        assert list(store.gold().rows()) == [("q1", "d2", 3)]
        assert len(store.originals()) == 0


def test_scores_run_while_people_judge_and_the_commands_show_them(tmp_path: Path) -> None:
    (tmp_path / "gold.qrels").write_text("".join(f"q{number} 0 d1 5\n" for number in range(1, 7)))
    with make_study(tmp_path / "study.db", queries=6, passages=1) as store:
        made = CliRunner().invoke(app, ["assess", "gold", str(tmp_path / "study.db"), str(tmp_path / "gold.qrels")])
        assert "6 gold questions" in made.output
        (name,) = join(store)
        store.judging.begin(name)
        for answered in range(1, 7):
            task = store.judging.task(name)
            store.judging.give(name, task.assignment, task.position, 1)
            assert store.watch().gold == {name: GoldScore(answered, 0)}
    shown = CliRunner().invoke(app, ["assess", "status", str(tmp_path / "study.db"), "--by", "assessor"])
    assert "gold right" in shown.output
    assert f"note: {name}: 0 of 6 gold questions are right" in shown.output
