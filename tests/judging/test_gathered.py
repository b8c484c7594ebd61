"""Grades from a real database are those of its export."""

from __future__ import annotations

from pathlib import Path

from small_studies import grade_all, join, make_study

from rankwell.core import Judgments
from rankwell.judging.export import write_export
from rankwell.judging.grades import gather
from rankwell.judging.labels import LabelRules, make_labels


def test_a_database_and_its_export_hold_the_same_grades(address: str, tmp_path: Path) -> None:
    known = Judgments([("q1", "d1", 1), ("q2", "d3", 0)])
    with make_study(address, queries=3, passages=4, originals=known, assessors_per_query=2) as store:
        for name, grade in zip(join(store, 2), (2, None), strict=True):
            store.people.set_english(name, 8)
            store.judging.begin(name)
            grade_all(store, name, grade)
        write_export(tmp_path / "grades.tsv", store.answers())
    found = gather(address)
    assert (found.lowest, found.highest, found.assessors) == (1, 5, 2)
    assert found.original == known
    assert sorted(found.grades.rows(), key=repr) == sorted(gather(tmp_path / "grades.tsv").grades.rows(), key=repr)
    assert len(found.grades) == 2 * 3 * 4
    assert set(found.grades.english) == {8}
    labels = make_labels(found.grades, found.original, LabelRules(assessors=1), confirmed=False)
    assert labels.binary["liberal"].count == 3 * 4  # who could tell nothing is on no panel


def test_a_study_without_original_judgments_has_none(sqlite_address: str) -> None:
    make_study(sqlite_address, scale=_two_points()).close()
    found = gather(sqlite_address)
    assert found.original is None
    assert (found.lowest, found.highest, len(found.grades)) == (0, 1, 0)


def _two_points() -> object:
    from rankwell.judging.study import SCALES

    return SCALES[2]


def test_a_tables_scale_is_told_by_its_grades(tmp_path: Path) -> None:
    table = tmp_path / "grades.csv"
    table.write_text("qid,docno,assessor,grade\nq,d1,a,0\nq,d2,a,3\n")
    assert (gather(table).lowest, gather(table).highest) == (0, 3)
    table.write_text("qid,docno,assessor,grade\nq,d1,a,2\nq,d2,a,5\n")
    assert (gather(table).lowest, gather(table).highest) == (1, 5)
    table.write_text("qid,docno,assessor,grade\n")
    assert (gather(table).lowest, gather(table).highest, len(gather(table).grades)) == (1, 1, 0)
