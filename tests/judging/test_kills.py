"""A grade that was acknowledged is there, whatever happens to the process that saved it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from small_studies import join, make_study

from rankwell.judging import open_study

PEOPLE, GRADES = 20, 1000
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("killed_after", [1, 130, 700])
def test_a_kill_loses_no_acknowledged_grade(address: str, closing, killed_after: int) -> None:
    made = make_study(address, queries=60, passages=GRADES // PEOPLE // 5, assessors_per_query=20)
    names = join(made, PEOPLE)
    for name in names:
        made.judging.begin(name)
    made.close()
    program = [sys.executable, str(Path(__file__).with_name("grading.py")), address, *names]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(killed_after)]
        process.kill()
        lines += process.stdout.readlines()
    acknowledged = {tuple(line.split()) for line in lines}
    assert killed_after <= len(acknowledged) < GRADES
    store = closing(open_study(address))
    for name, assignment, position, grade in acknowledged:
        task = store.judging.task(name, int(assignment), int(position))
        assert task.answer is not None
        assert task.answer.grade == int(grade)
    assert len(acknowledged) <= len(store.grades()) <= len(acknowledged) + PEOPLE
    name = names[0]
    task = store.judging.task(name)
    assert store.judging.give(name, task.assignment, task.position, 1).done in (True, False), "and one can go on"
