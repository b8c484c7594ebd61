"""A commit that cannot be opened is told by /health, the log and the metrics, and never acknowledged as searchable."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving_api import key, make_index, served, settings_for

from rankwell.apps.search import searcher
from rankwell.core import Document
from rankwell.index import IndexWriter

PAPER = {"fields": {"title": "Zebra"}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(searcher, "EVERY", 0.0)
    return make_index(tmp_path / "papers")


def damage(folder: Path) -> tuple[Path, bytes]:
    """Commit a document, and cut its segment off; the file and its content."""
    before = set(folder.iterdir())
    with IndexWriter(folder) as writer:
        writer.add(Document("new", {"title": "okapi"}))
    file = next(file for file in set(folder.iterdir()) - before if file.suffix == ".segment")
    content = file.read_bytes()
    file.write_bytes(content[:-10])
    return file, content


@pytest.fixture
def operator_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What the operator reads; a server that ran in this process before has cut this logger off from the others."""
    logger = logging.getLogger("rankwell.web.serve")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


def test_a_commit_that_cannot_be_opened_is_told(folder: Path, operator_log: pytest.LogCaptureFixture) -> None:
    with served(settings_for(folder)) as client:
        assert client.get("/health").json() == {"status": "ok"}
        file, content = damage(folder)
        found = client.get("/api/search?q=droplets")
        assert (found.status_code, found.json()["warnings"]) == (200, [])  # the version before is searched
        sick = client.get("/health")
        assert sick.status_code == 503
        assert sick.json()["error"].startswith("searches do not see the last commit: papers/")
        assert str(folder.parent) not in sick.text
        assert [record for record in operator_log.records if "the last commit cannot be opened" in record.message]
        assert "rankwell_refresh_failures_total 0.0" not in client.get("/metrics").text
        file.write_bytes(content)
        time.sleep(0.01)
        assert client.get("/api/search?q=okapi").json()["results"]
        assert client.get("/health").status_code == 200


def test_a_change_that_searches_do_not_see_is_not_acknowledged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_for(folder)
    with served(settings) as client:
        writer = key(settings, "write")

        def fails(_: object) -> None:
            raise searcher.RankwellError(f"{folder}: cannot be read: Too many open files")

        with monkeypatch.context() as patch:
            patch.setattr(searcher.Index, "reopen", fails)
            refused = client.put("/api/documents/z", json=PAPER, headers=writer)
        assert refused.status_code == 503
        assert "is kept, but cannot be searched yet" in refused.json()["error"]
        assert client.put("/api/documents/y", json=PAPER, headers=writer).status_code == 201
        found = client.get("/api/search?q=zebra").json()["results"]
        assert {row["id"] for row in found} == {"y", "z"}


def test_a_document_with_too_many_fields_is_refused_and_others_are_kept(folder: Path) -> None:
    settings = settings_for(folder)
    with served(settings) as client:
        writer = key(settings, "write")
        many = {"fields": {f"f{number}": "x" for number in range(1001)}}
        refused = client.put("/api/documents/z", json=many, headers=writer)
        assert (refused.status_code, refused.json()["expected"].partition(" (")[0]) == (
            422,
            "an index with at most 1,000 fields",
        )
        assert client.put("/api/documents/y", json=PAPER, headers=writer).status_code == 201
