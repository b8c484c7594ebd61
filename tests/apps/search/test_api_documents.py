"""Documents and judgments over HTTP: kept when the answer says so, and searched from then on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving_api import key, make_index, served, settings_for
from starlette.testclient import TestClient

from rankwell.collections import read_qrels, read_queries
from rankwell.core import Document
from rankwell.index import Index, IndexWriter


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_index(tmp_path / "papers")


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    settings = settings_for(folder, judgments=folder.with_name("thumbs.jsonl"), max_batch=3, max_body=20_000)
    with served(settings) as client:
        client.headers.update(key(settings, "admin"))
        yield client


def found(client: TestClient, query: str) -> list[str]:
    return [row["id"] for row in client.get("/api/search", params={"q": query}).json()["results"]]


def test_a_document_is_read_as_it_was_stored(client: TestClient) -> None:
    assert client.get("/api/documents/p2").json() == {
        "id": "p2",
        "fields": {"title": "Hand washing", "abstract": "Soap destroys the envelope of the virus."},
        "metadata": {"year": 2021, "source": "WHO"},
    }
    missing = client.get("/api/documents/nix")
    assert (missing.status_code, missing.json()["where"]) == (404, "id")


def test_what_was_acknowledged_is_on_the_disk_and_is_searched(client: TestClient, folder: Path) -> None:
    added = client.put("/api/documents/z1", json={"fields": {"title": "Zebra"}, "metadata": {"year": 2024}})
    assert (added.status_code, added.json()["created"]) == (201, 1)
    assert Index.open(folder).documents["z1"] == Document("z1", {"title": "Zebra"}, {"year": 2024})
    assert found(client, "zebra") == ["z1"]
    replaced = client.put("/api/documents/z1", json={"fields": {"title": "Okapi"}})
    assert (replaced.status_code, replaced.json()["replaced"]) == (200, 1)
    assert (found(client, "zebra"), found(client, "okapi")) == ([], ["z1"])
    assert client.delete("/api/documents/z1").json()["deleted"] == 1
    assert found(client, "okapi") == []
    assert client.delete("/api/documents/z1").status_code == 404
    assert client.get("/api/documents/z1").status_code == 404


@pytest.mark.parametrize("docno", ["a/b", "a b", "ü", "?x=1", "..", "日本"])
def test_an_id_may_be_any_text(client: TestClient, docno: str) -> None:
    from urllib.parse import quote

    address = "/api/documents/" + quote(docno, safe="").replace(".", "%2E")
    assert client.put(address, json={"fields": {"title": "Zebra"}}).status_code == 201
    assert client.get(address).json()["id"] == docno
    assert found(client, "zebra") == [docno]


@pytest.mark.parametrize("path", ["a%0Ab", "a%0A", "%C2%85", "%7F", "x" * 513, "%ffA", "%feA"])
def test_an_id_without_control_characters_is_asked_for(client: TestClient, path: str) -> None:
    answer = client.put(f"/api/documents/{path}", json={"fields": {"title": "Zebra"}})
    assert answer.status_code == 422, answer.text
    assert client.get("/api/search?q=zebra").json()["results"] == []


def test_a_batch_has_the_same_rule_for_ids(client: TestClient) -> None:
    answer = client.post("/api/documents", json={"documents": [{"id": "a\nb", "fields": {"title": "Zebra"}}]})
    assert answer.status_code == 422
    assert "without control characters" in answer.json()["expected"]


def test_a_batch_is_kept_as_a_whole_or_not_at_all(client: TestClient) -> None:
    good = {"id": "z1", "fields": {"title": "Zebra"}}
    kept = client.post("/api/documents", json={"documents": [good, {**good, "id": "z2"}]})
    assert (kept.status_code, kept.json()["created"]) == (200, 2)
    bad = client.post("/api/documents", json={"documents": [{**good, "id": "z3"}, {"id": "z4"}]})
    assert (bad.status_code, bad.json()["where"]) == (422, "documents[1].fields")
    assert found(client, "zebra") == ["z2", "z1"]
    many = client.post("/api/documents", json={"documents": [{**good, "id": str(n)} for n in range(4)]})
    assert (many.status_code, many.json()["expected"]) == (422, "at most 3")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 413),
        (b"[" * 10_000, 400),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"fields": []}', 422),
        (b'{"fields": {"title": 1}}', 422),
        (b'{"fields": {"": "x"}}', 422),
        (b'{"fields": {}, "metadata": []}', 422),
        (b'{"fields": {}, "other": 1}', 422),
        (b'{"fields": {"title": "\\ud800"}}', 400),
    ],
)
def test_what_is_no_document_is_refused_and_changes_nothing(client: TestClient, content: bytes, status: int) -> None:
    headers = {"content-type": "application/json"}
    refused = client.put("/api/documents/z", content=content, headers=headers)
    assert (refused.status_code, set(refused.json())) == (status, {"error", "expected", "found", "where"})
    assert client.get("/api/documents/z").status_code == 404


def test_another_writer_is_a_clear_refusal_and_later_all_is_well(client: TestClient, folder: Path) -> None:
    with IndexWriter(folder):
        refused = client.put("/api/documents/z", json={"fields": {"title": "Zebra"}})
        assert refused.status_code == 409
        assert int(refused.headers["retry-after"]) >= 1
        assert str(folder.parent) not in refused.text
    assert client.put("/api/documents/z", json={"fields": {"title": "Zebra"}}).status_code == 201


def test_judgments_are_kept_and_evaluate_can_read_them(client: TestClient, tmp_path: Path) -> None:
    kept = client.post("/api/judgments", json={"query": "droplets", "id": "p1", "grade": 1})
    assert kept.status_code == 200
    client.post("/api/judgments", json={"query": "Droplets ", "id": "p2", "grade": 0})
    client.post("/api/judgments", json={"query": "soap", "id": "p2", "grade": 1})
    client.post("/api/judgments", json={"query": "soap", "id": "p2", "grade": None})
    qid = kept.json()["query_id"]
    (tmp_path / "thumbs.qrels").write_bytes(client.get("/api/judgments?format=qrels").content)
    (tmp_path / "thumbs.csv").write_bytes(client.get("/api/judgments?format=queries").content)
    assert {q: dict(grades) for q, grades in read_qrels(tmp_path / "thumbs.qrels").items()} == {qid: {"p1": 1, "p2": 0}}
    assert read_queries(tmp_path / "thumbs.csv").texts() == {qid: "droplets"}
    as_json = client.get("/api/judgments").json()
    assert as_json["queries"] == [{"id": qid, "text": "droplets"}]
    assert as_json["qrels"] == [
        {"query_id": qid, "id": "p1", "grade": 1},
        {"query_id": qid, "id": "p2", "grade": 0},
    ]
    assert as_json["grades"] == [{**grade, "who": "admin-0"} for grade in as_json["qrels"]]


@pytest.mark.parametrize(
    "judgment",
    [
        {"query": "x", "id": "nix", "grade": 1},
        {"query": "", "id": "p1", "grade": 1},
        {"query": "x", "id": "p1", "grade": 1.5},
        {"query": "x", "id": "p1", "grade": True},
        {"query": "x", "id": "p1"},
        {"query": "x", "id": ["p1"], "grade": 1},
    ],
    ids=str,
)
def test_what_is_no_judgment_is_refused(client: TestClient, judgment: dict[str, object]) -> None:
    assert client.post("/api/judgments", json=judgment).status_code == 422
    assert client.get("/api/judgments").json()["qrels"] == []


def test_a_server_without_judgments_says_so(folder: Path) -> None:
    settings = settings_for(folder)
    with served(settings) as client:
        assert client.get("/api/judgments", headers=key(settings, "admin")).status_code == 404
