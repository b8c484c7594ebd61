from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_studies import Clock, grade_all, join, make_study

from rankwell.core import ParameterError
from rankwell.judging.export import Noted, exported, write_export
from rankwell.judging.grades import read_grades
from rankwell.judging.progress import assessor_table, query_table, totals
from rankwell.judging.store import Store


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Two assessors, of whom the second stopped after one passage. Nobody changes it."""
    with make_graded_study(tmp_path_factory.mktemp("export") / "study.db") as store:
        yield store


def make_graded_study(path: Path) -> Store:
    clock = Clock()
    store = make_study(str(path), queries=6, passages=2, clock=clock, open_to_all=True, seed=3)
    token = store.sign_in.request_link("zoe@example.org", "10.0.0.1")
    first = store.sign_in.sign_in(token, "10.0.0.1").name
    store.people.consent(first)
    (second,) = join(store)
    store.people.set_english(first, 8)
    store.judging.begin(first)
    store.judging.task(first)
    clock.forward(seconds=2.5)
    grade_all(store, first, 4)
    store.judging.begin(second)
    task = store.judging.task(second)
    store.judging.give(second, task.assignment, task.position, None, note="private")
    return store


def test_an_export_has_every_answer_with_its_order_and_time(study) -> None:
    rows = json.loads(exported(study.answers(), "json"))
    assert len(rows) == 13
    unsure = [row for row in rows if row["grade"] is None]
    assert [(row["query_order"], row["passage_order"], row["finished"], row["english"]) for row in unsure] == [
        (1, 1, False, None)
    ]
    first = [row for row in rows if row["grade"] == 4]
    assert {(row["finished"], row["english"]) for row in first} == {(True, 8)}
    assert sorted((row["query_order"], row["passage_order"]) for row in first) == [
        (query, passage) for query in range(1, 7) for passage in (1, 2)
    ]
    assert {row["given_at"] for row in rows} == {"2026-03-01T12:00:02.500000+00:00"}
    assert max(row["seconds"] for row in rows) == 2.5


@pytest.mark.parametrize("format", ["tsv", "csv", "json"])
def test_an_export_holds_nothing_personal(study, format: str) -> None:
    text = exported(study.answers(), format)
    for private in ("zoe", "example.org", "private", "10.0.0.1"):
        assert private not in text


def test_notes_are_in_a_file_of_their_own_under_the_same_random_names(study, tmp_path: Path) -> None:
    assert write_export(tmp_path / "notes.tsv", study.notes(), kind=Noted) == 1
    header, row = (tmp_path / "notes.tsv").read_text().splitlines()
    assert header.split("\t") == ["qid", "docno", "assessor", "note"]
    (unsure,) = [answer for answer in study.answers() if answer.grade is None]
    assert row.split("\t") == [unsure.qid, unsure.docno, unsure.assessor, "private"]


@pytest.mark.parametrize("note", ["=HYPERLINK(1)", "+1", "-1", "@x"])
def test_no_spreadsheet_takes_a_note_for_a_formula(study, note: str) -> None:
    rows = [row._replace(note=note) for row in study.notes()]
    assert exported(rows, "csv", Noted).splitlines()[1].endswith(f",'{note}")
    assert json.loads(exported(rows, "json", Noted))[0]["note"] == note


def test_the_notes_of_a_deleted_person_are_gone(tmp_path: Path) -> None:
    with make_graded_study(tmp_path / "study.db") as study:
        (note,) = study.notes()
        study.people.delete(note.assessor)
        assert study.notes() == []


@pytest.mark.parametrize("format", ["tsv", "csv", "json"])
def test_an_export_reads_back_as_the_grades_of_the_study(study, tmp_path: Path, format: str) -> None:
    path = tmp_path / f"grades.{format}"
    assert write_export(path, study.answers()) == 13
    assert read_grades(path) == study.grades()


def test_grades_of_unfinished_queries_can_be_left_out(study) -> None:
    assert len(study.grades()) == 13
    assert len(study.grades(finished=True)) == 12


def test_an_unknown_format_is_told(study, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="format: expected one of tsv, csv, json"):
        write_export(tmp_path / "grades.xlsx", study.answers())


def test_the_status_counts_people_queries_and_grades(study) -> None:
    progress = study.progress()
    assert totals(progress) == "13 grades by 2 assessors; of 6 queries 6 are begun and 0 have 3 assessors"
    assert all((query.done, query.working, query.passages) == (1, 1, 2) for query in progress.queries)
    first, second = progress.assessors
    assert (first.done, first.working, first.grades, first.cannot_tell) == (6, 0, 12, 0)
    assert (second.done, second.working, second.grades, second.cannot_tell) == (0, 6, 1, 1)
    assert first.seconds == pytest.approx(2.5 / 12, abs=1e-9)
    assert len(query_table(progress).rows) == 6
    assert [row[2] for row in assessor_table(progress).rows] == [6, 0]
