from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from screening_projects import Visitor, make_project, references

from rankwell.apps.screening.application import create_application
from rankwell.apps.web.middleware import HEADERS
from rankwell.collections.tagged import parse_ris
from rankwell.reviews import Reference
from rankwell.reviews.screening.decisions import Answer
from rankwell.reviews.screening.store import Project

KEY = b"k" * 32


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    records = [*references(8), references(1)[0]]
    with make_project(tmp_path / "p.db", records, ("Ada", "Ben")) as made:
        yield made


@pytest.fixture
def app(project: Project) -> FastAPI:
    return create_application(project, key=KEY, describe=True)


def routes(app: FastAPI, method: str) -> list[str]:
    """The paths of all pages, with something in the place of each parameter."""
    paths = app.openapi()["paths"]
    return sorted(re.sub(r"{\w+}", "1", path) for path, methods in paths.items() if method in methods)


def test_nobody_comes_in_without_a_link(app: FastAPI, project: Project) -> None:
    nobody = Visitor(app, None)
    for path in routes(app, "get"):
        assert nobody.get(path).status_code == 401, path
    token = re.findall(r'"csrf" value="([^"]+)"', nobody.get("/screen").text)
    assert token == []
    other = create_application(project, key=b"o" * 32).state.site.link(project.reviewers()[0])
    for link in ("/open", "/open?reviewer=1&key=x", "/open?reviewer=9&key=x", other):
        assert nobody.get(link).status_code == 401, link


def test_a_link_is_for_one_reviewer(app: FastAPI, project: Project) -> None:
    ada, ben = (app.state.site.link(reviewer) for reviewer in project.reviewers())
    assert ada != ben
    assert Visitor(app, None).get(ben.replace("reviewer=2", "reviewer=1")).status_code == 401
    assert "decided by Ben" in Visitor(app, 2).get("/").text


def test_no_form_works_without_its_token(app: FastAPI, project: Project) -> None:
    visitor = Visitor(app)
    forms = routes(app, "post")
    assert forms == ["/conflicts/1", "/duplicates/1", "/import", "/screen/1", "/settings", "/undo"]
    for path in forms:
        if path == "/import":
            files = {"files": ("a.ris", b"TY  - JOUR\nTI  - New\nER  - \n")}
            assert visitor.post(path, files=files).status_code == 403
            assert visitor.post(path, files=files, data={"csrf": "wrong"}).status_code == 403
            assert visitor.post(path, data={"csrf": visitor.token()}).status_code == 415
        else:
            assert visitor.post(path, data={"answer": "include", "verdict": "same"}).status_code == 403, path
            assert visitor.post(path, data={"answer": "include", "csrf": Visitor(app, 2).token()}).status_code == 403
    assert project.decisions.history() == 0
    assert project.records.count() == 9


def test_every_answer_has_the_headers_and_nothing_that_the_policy_forbids(app: FastAPI, project: Project) -> None:
    project.decisions.decide(1, 1, Answer.INCLUDE)
    visitor = Visitor(app)
    for path in (*routes(app, "get"), "/export/all.csv", "/static/screen.js", "/nowhere"):
        response = visitor.get(path)
        assert response.status_code < 500
        for name, value in HEADERS.items():
            assert response.headers[name] == value, path
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", response.text), path
        assert not re.search(r"<script(?! src=\"/static/)", response.text), path


def test_an_answer_is_saved_and_the_next_record_comes(app: FastAPI, project: Project) -> None:
    visitor = Visitor(app)
    first = visitor.next_record()
    page = visitor.submit(f"/screen/{first}", answer="exclude", reason="outcome", note="a\r\nb")
    assert page.url.path == "/screen"
    assert visitor.next_record() != first
    assert project.decisions.of(1)[first][1:] == (Answer.EXCLUDE, "outcome", "a\nb")
    assert visitor.submit("/undo").url.path == f"/screen/{first}"
    assert project.decisions.of(1) == {}


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/screen/1", {"answer": "perhaps"}, 422),
        ("/screen/1", {"answer": "exclude", "reason": "not on the list"}, 422),
        ("/screen/1", {"answer": "include", "note": "x" * 3000}, 422),
        ("/screen/99", {"answer": "include"}, 404),
        ("/screen/9", {"answer": "include"}, 404),  # a duplicate
        ("/screen/0", {"answer": "include"}, 422),
        ("/duplicates/1", {"verdict": "same"}, 404),
        ("/conflicts/1", {"answer": "include"}, 404),
        ("/settings", {"title": " ", "reasons": ""}, 422),
        ("/settings", {"title": "t", "reasons": "x" * 121}, 422),
    ],
)
def test_what_makes_no_sense_is_refused(app: FastAPI, path: str, fields: dict[str, str], status: int) -> None:
    assert Visitor(app).submit(path, **fields).status_code == status


def test_nothing_of_the_other_shows_before_both_have_decided(app: FastAPI) -> None:
    ben = Visitor(app, 2)
    before = {path: ben.get(path).text for path in routes(app, "get") if path != "/import"}
    Visitor(app).submit("/screen/3", answer="exclude", reason="outcome", note="secret remark")
    clean = {path: re.sub(r'value="[^"]+"', "", text) for path, text in before.items()}
    for path, text in clean.items():
        assert re.sub(r'value="[^"]+"', "", ben.get(path).text) == text, path
    for name in ("all.csv", "all.ris", "excluded.csv"):
        assert "secret" not in ben.get(f"/export/{name}").text
    assert json.loads(ben.get("/export/prisma.json").text)["screened"] == 0


def test_a_conflict_is_shown_to_both_and_resolved_by_one(app: FastAPI) -> None:
    ada, ben = Visitor(app), Visitor(app, 2)
    ada.submit("/screen/3", answer="exclude", reason="outcome", note="not measured")
    ben.submit("/screen/3", answer="include")
    for visitor in (ada, ben):
        assert "1 to resolve" in visitor.get("/conflicts").text
        assert "not measured" in visitor.get("/conflicts").text
    assert "Resolved by Ben" in ben.submit("/conflicts/3", answer="exclude", reason="outcome").text
    assert json.loads(ada.get("/export/prisma.json").text)["excluded"] == {"outcome": 1}
    assert "1 to resolve" in ben.submit("/conflicts/3", answer="reopen").text


def test_a_duplicate_is_brought_back_and_set_aside_again(app: FastAPI, project: Project) -> None:
    visitor = Visitor(app)
    assert project.duplicates.set_aside() == {9}
    assert visitor.get("/screen/9").status_code == 404
    assert "kept apart" in visitor.submit("/duplicates/9", verdict="different").text
    assert visitor.get("/screen/9").status_code == 200
    visitor.submit("/duplicates/9", verdict="same")
    assert project.duplicates.set_aside() == {9}


def test_files_come_in_by_the_page(app: FastAPI, project: Project) -> None:
    visitor = Visitor(app)
    ris = b"TY  - JOUR\nTI  - Dancing against depression in adults\nPY  - 2020\nER  - \n"
    files = [("files", ("../../etc/dance.ris", ris)), ("files", ("two.csv", b"title,year\nTai chi,2021\n"))]
    page = visitor.post("/import", files=files, data={"csrf": visitor.token()})
    assert page.status_code == 200
    assert [source.name for source in project.records.sources()] == ["records.ris", "dance.ris", "two.csv"]
    assert project.records.count() == 11
    again = visitor.post("/import", files={"files": ("dance.ris", ris)}, data={"csrf": visitor.token()})
    assert again.status_code == 200
    assert 12 in project.duplicates.set_aside()


def test_only_a_form_with_files_is_an_upload(app: FastAPI, project: Project) -> None:
    visitor = Visitor(app)
    broken = {"content-type": "multipart/form-data; boundary=x"}
    assert visitor.post("/import", content=b"--x\r\nno header", headers=broken).status_code in (400, 403)
    assert visitor.post("/import", content=b"", headers={"content-type": "multipart/form-data"}).status_code == 400
    assert visitor.post("/screen/1", files={"answer": b"include"}).status_code == 415
    large = {"content-type": "multipart/form-data; boundary=x", "content-length": str(2**40)}
    assert visitor.post("/import", content=b"", headers=large).status_code == 413
    assert project.records.count() == 9


@pytest.mark.parametrize(
    ("name", "content"),
    [("bad.ris", b"nothing"), ("empty.csv", b""), ("<b>.csv", b"a,b\n1,2\n"), ("x.pdf", b"%PDF-1.7")],
)
def test_a_file_that_cannot_be_read_adds_nothing(app: FastAPI, project: Project, name: str, content: bytes) -> None:
    visitor = Visitor(app)
    good = ("files", ("good.ris", b"TY  - JOUR\nTI  - Good\nER  - \n"))
    files = [good, ("files", (name, content))]
    page = visitor.post("/import", files=files, data={"csrf": visitor.token()})
    assert page.status_code == 422
    assert "upload" not in re.findall(r'id="problem">([^<]*)<', page.text)[0]
    assert "<b>" not in page.text
    assert project.records.count() == 9


def test_exports_hold_decisions_and_no_formulas(tmp_path: Path) -> None:
    records = [
        Reference(
            title="=HYPERLINK(1)",
            authors=("@x", "-y"),
            abstract="+1",
            doi="10.1000/1",
            source="ris",
            more=(("VL", "7"),),
        ),
        Reference(title=" -2+3 cmd", year=2004),
    ]
    with make_project(tmp_path / "p.db", records, title="Tests & <trials>") as project:
        visitor = Visitor(create_application(project, key=KEY))
        visitor.submit("/screen/1", answer="exclude", reason="outcome", note="=1+1")
        visitor.submit("/screen/2", answer="include")
        response = visitor.get("/export/all.csv")
        assert response.headers["content-disposition"] == 'attachment; filename="tests-trials-all.csv"'
        rows = list(csv.DictReader(io.StringIO(response.text)))
        assert [row["status"] for row in rows] == ["excluded", "included"]
        assert rows[0]["title"] == "'=HYPERLINK(1)"
        assert rows[0]["reason"] == rows[0]["Reviewer: reason"] == "outcome"
        assert not any(cell.lstrip(" ")[:1] in tuple("=+-@\t\r") for row in rows for cell in row.values() if cell)
        found = parse_ris(visitor.get("/export/excluded.ris").text)
        assert [of.title for of in found] == ["=HYPERLINK(1)"]
        assert ("VL", "7") in found[0].more
        assert ("N1", "Rankwell status: excluded") in found[0].more
        assert ("N1", "Rankwell reason: outcome") in found[0].more
        assert visitor.get("/export/all.exe").status_code == 404
        assert visitor.get("/export/other.csv").status_code == 404


def test_the_list_is_filtered_and_searched(app: FastAPI) -> None:
    visitor = Visitor(app)
    visitor.submit("/screen/2", answer="include")
    assert 'href="/screen/2"' in visitor.get("/records?show=include").text
    assert 'href="/screen/2"' not in visitor.get("/records?show=undecided").text
    assert re.findall(r'href="/screen/(\d+)"', visitor.get("/records?words=bridges+timber").text) == ["5"]
    assert re.findall(r'href="/screen/(\d+)"', visitor.get("/records?show=all&words=nowhere").text) == []
    assert visitor.get("/records?show=<script>&page=999").status_code == 200
