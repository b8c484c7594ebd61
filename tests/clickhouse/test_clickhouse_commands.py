"""The commands on an index in ClickHouse, as users type them, and a server over one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from clickhouse_servers import need_chdb
from rankwell import Document
from rankwell.apps.search.access import Keys
from rankwell.apps.search.application import create_application
from rankwell.apps.search.service import create_service
from rankwell.apps.search.settings import ServeSettings
from rankwell.cli import app
from rankwell.index import IndexWriter

PAPERS = {
    "p1": ("Masks and droplets", "Masks stop large droplets, and some small ones.", 2020),
    "p2": ("Hand washing", "Soap destroys the envelope of the virus.", 2021),
    "p3": ("Opening windows", "Fresh air carries droplets away.", 2022),
}


def run(*words: str) -> str:
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def place(tmp_path: Path, chdb: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address that the papers were pushed to; the index itself is in the folder `index`."""
    need_chdb()
    monkeypatch.chdir(tmp_path)
    with IndexWriter("index", metadata=["year"]) as writer:
        for docno, (title, text, year) in PAPERS.items():
            writer.add(Document(docno, {"title": title, "text": text}, {"year": year}))
    run("push", "index", chdb, "--quiet")
    return chdb


def test_searching_ranking_and_looking_up_are_the_same(place: str) -> None:
    for options in (
        ["--explain"],
        ["--json", "--match", "expr:droplets AND NOT title:masks", "--filter", "year>=2021"],
    ):
        words = ["droplets air", *options]
        assert run("search", place, *words) == run("search", "index", *words)
    Path("queries.tsv").write_text("1\tdroplets\n2\tvirus soap\n")
    for where, out in (("index", "here.trec"), (place, "there.trec")):
        run("rank", where, "queries.tsv", "-o", out, "--quiet")
    assert Path("here.trec").read_text() == Path("there.trec").read_text()
    assert run("get", place, "p2") == run("get", "index", "p2")
    assert json.loads(run("info", place, "--json"))["documents"] == 3


@pytest.mark.slow
def test_a_server_searches_it_and_refuses_to_write(place: str, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    header = {"Authorization": f"Bearer {Keys(keys).add('me', 'write')}"}
    answers = []
    for index in (Path("index"), place):
        site = create_application(create_service(ServeSettings(index, keys=keys)))
        with TestClient(site, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
            found = client.get("/api/search", params={"q": "droplets", "facets": "year", "total": "true"}).json()
            answers.append({name: found[name] for name in ("results", "total", "facets")})
            assert "droplets" in client.get("/", params={"q": "droplets"}).text
            document = {"fields": {"title": "New"}}
            refused = client.put("/api/documents/p9", json=document, headers=header)
    assert answers[0] == answers[1]
    assert refused.status_code == 403
    assert "rankwell push" in refused.text
