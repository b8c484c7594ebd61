"""The pages of disagreements and single grades: who may see them, and what the forms do."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI
from visitor import Visitor

from rankwell.judging.store import Store
from studies import make_study


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_study(tmp_path / "study.db", queries=1, passages=2, assessors_per_query=2)


@pytest.fixture
def graded(app: FastAPI, store: Store) -> list[str]:
    """Two people grade both passages, one 2 and one 5; their names."""
    names = []
    for grade in (2, 5):
        person = Visitor(app)
        names.append(person.join(store))
        person.begin()
        for _ in range(2):
            person.grade(grade, note=f"<b>note</b> of {grade}")
    return names


def test_only_adjudicators_and_administrators_come_in(app: FastAPI, store: Store, graded: list[str]) -> None:
    outside, plain, boss = Visitor(app), Visitor(app), Visitor(app)
    assert "/sign-in" in str(outside.get("/adjudicate").url)
    name = plain.join(store)
    boss.join(store, administrator=True)
    for path in ("/adjudicate", "/adjudicate/1/1", "/admin/grades/1"):
        assert plain.get(path).status_code == 403
        assert boss.get(path).status_code == 200
    assert "Disagreements" not in plain.get("/me").text
    boss.submit(f"/admin/assessors/{name}/adjudicate")
    assert "Disagreements" in plain.get("/me").text
    assert plain.get("/adjudicate/1/1").status_code == 200
    assert plain.get("/admin/grades/1").status_code == 403
    boss.submit(f"/admin/assessors/{name}/adjudicate-no-more")
    assert plain.get("/adjudicate").status_code == 403
    assert boss.get("/adjudicate/1/9").status_code == 404
    assert boss.get("/admin/grades/9").status_code == 404
    assert len(graded) == 2


def test_a_decision_is_saved_and_the_next_passage_comes(app: FastAPI, store: Store, graded: list[str]) -> None:
    boss = Visitor(app)
    boss.join(store, administrator=True)
    assert "2 of 2 wait for a decision" in boss.get("/adjudicate").text
    page = boss.get("/adjudicate/1/1").text
    assert all(f"&lt;b&gt;note&lt;/b&gt; of {grade}" in page for grade in (2, 5))
    assert all(name in page for name in graded)
    following = boss.submit("/adjudicate/1/1", "/adjudicate/1/1", answer="3", seen="0", note="between")
    assert "/adjudicate/1/2" in str(following.url)
    refused = boss.submit("/adjudicate/1/1", "/adjudicate/1/1", answer="4", seen="0")
    assert refused.status_code == 409
    assert "Somebody else has decided this passage meanwhile" in refused.text
    done = boss.submit("/adjudicate/1/2", "/adjudicate/1/2", answer="3", seen="0")
    assert "Nothing else waits" in done.text
    assert boss.submit("/adjudicate/1/1", "/adjudicate/1/1", answer="9", seen="0").status_code == 422
    assert [one.grade for one in store.adjudications()] == [3, 3]
    boss.submit("/adjudicate/1/2/withdraw", "/adjudicate/1/2")
    assert "1 of 2 waits for a decision" in boss.get("/adjudicate").text
    results = boss.get("/admin/results").text
    assert "1 passage was" in results
    table = boss.get("/admin/export/adjudications.tsv").text.splitlines()
    assert table[0].split("\t") == ["qid", "docno", "adjudicator", "grade", "given_at", "note"]
    assert table[1].split("\t")[:2] == ["q0", "d0-0"]
    assert "q0 0 d0-0 3" in boss.get("/admin/export/graded.qrels").text


def test_an_administrator_sees_every_single_grade(app: FastAPI, store: Store, graded: list[str]) -> None:
    boss = Visitor(app)
    boss.join(store, administrator=True)
    assert "/admin/grades/1" in boss.get("/admin").text
    page = boss.get("/admin/grades/1").text
    assert all(page.count(name) == 2 for name in graded)
    assert "&lt;b&gt;note&lt;/b&gt; of 5" in page
