from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest
from visitor import Visitor

from rankwell.apps.assess.application import create_application
from rankwell.apps.assess.judging_pages import lay_out, only_ends_named
from rankwell.apps.assess.site import grade_keys
from rankwell.judging.store import Store
from rankwell.judging.study import SCALES
from studies import make_study


def test_an_invitation_leads_to_the_first_passage(visitor: Visitor, store: Store) -> None:
    visitor.join(store)
    page = visitor.begin()
    assert "1 of 4 in this query" in page.text
    assert "query 1 of 6" in page.text
    assert "totally irrelevant" in page.text


def test_each_grade_is_stored_as_it_is_given(visitor: Visitor, store: Store) -> None:
    name = visitor.join(store)
    visitor.begin()
    for answer in (3, "unsure", 5):
        visitor.grade(answer, note="a note" if answer == 5 else "")
    stored = {(row.assessor, row.passage_order): row.grade for row in store.answers()}
    assert stored == {(name, 1): 3, (name, 2): None, (name, 3): 5}
    assert "4 of 4 in this query" in visitor.get("/judge").text


def test_a_grade_that_the_disk_did_not_take_is_not_acknowledged(
    visitor: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    visitor.join(store)
    visitor.begin()
    monkeypatch.setattr("rankwell.store.database.os.fsync", fail)
    answer = visitor.grade(3)
    assert answer.status_code == 500
    assert "Input/output" not in answer.text


@pytest.mark.parametrize("points", SCALES)
def test_every_grade_of_every_scale_has_a_button_a_name_and_a_key(tmp_path: Path, points: int) -> None:
    with make_study(tmp_path / "study.db", scale=SCALES[points]) as study:
        visitor = Visitor(create_application(study, key=b"k" * 32, base_url="http://judge.example.org"))
        visitor.join(study)
        page = visitor.begin().text
        found = dict(re.findall(r'name="answer" value="(\d+)" data-keys="(\w)"', page))
        assert found == {str(grade): "t" if grade == 10 else str(grade) for grade in study.study.grades}
        assert all(f">{point.name}</span>" in page for point in study.study.scale if point.name != str(point.grade))
        keys = re.findall(r"<kbd>(\w)</kbd>", visitor.get("/guidelines").text)
        assert set(found.values()) < set(keys)
        visitor.grade(study.study.grades[-1])
        assert [row.grade for row in study.answers()] == [study.study.grades[-1]]


def test_grades_beyond_ten_have_no_key_and_are_reached_by_the_arrows() -> None:
    assert grade_keys([-1, 0, 9, 10, 11]) == {0: "0", 9: "9", 10: "t"}


def test_a_scale_that_names_its_ends_only_is_known() -> None:
    assert [points for points in SCALES if only_ends_named(point[:2] for point in SCALES[points])] == [7, 11]


def test_administrators_read_and_take_away_notes(visitor: Visitor, store: Store) -> None:
    name = visitor.join(store, administrator=True)
    assert "Nobody has written a note yet" in visitor.get("/admin/notes").text
    visitor.begin()
    visitor.grade(3, note="<b>too long</b>\r\nsaid Zoe")
    page = visitor.get("/admin/notes").text
    assert "&lt;b&gt;too long&lt;/b&gt;\nsaid Zoe" in page
    assert name in page
    assert "1 note" in visitor.get("/admin/results").text
    assert [row["note"] for row in visitor.get("/admin/export/notes.json").json()] == ["<b>too long</b>\nsaid Zoe"]
    assert "Zoe" not in visitor.get("/admin/export/answers.json").text
    assert visitor.get("/admin/notes?page=2").status_code == 404


def test_nobody_else_reads_notes(visitor: Visitor, store: Store) -> None:
    visitor.join(store)
    assert visitor.get("/admin/notes").status_code == 403
    assert visitor.get("/admin/export/notes.tsv").status_code == 403


def test_a_tab_that_was_open_for_days_may_still_grade(visitor: Visitor, store: Store) -> None:
    visitor.join(store)
    visitor.begin()
    assert visitor.grade(3, milliseconds=3 * 24 * 3600 * 1000).status_code == 200
    assert [row.grade for row in store.answers()] == [3]


@pytest.mark.parametrize(
    ("query", "word"),
    [("SIGMET", "SIGMETs"), ("colds", "cold"), ("children's cough", "coughing"), ("on-line", "on-line")],
)
def test_other_forms_of_a_querys_words_are_marked(query: str, word: str) -> None:
    shown = lay_out({"text": f"The {word} here."}, query, mark=True)
    pieces = [piece for section in shown.sections for paragraph in section.paragraphs for piece in paragraph]
    assert [piece.text for piece in pieces if piece.marked] == [word]
