"""A disk that is full or read-only, and a file that is damaged: the reason and the way out, in one line."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from judging.small_studies import make_study
from rankwell.apps.web import Pages, Sessions
from rankwell.apps.web.application import new_application
from rankwell.core import RankwellError
from rankwell.core.errors import NotSavedError
from rankwell.judging.store import open_store


def test_a_full_disk_while_something_is_saved_is_told_with_the_way_out(tmp_path: Path) -> None:
    with make_study(tmp_path / "study.db") as store:
        with store.database.write() as session:
            pages = session.execute(text("PRAGMA page_count")).scalar()
        connection = store.database.engine.raw_connection()
        connection.cursor().execute(f"PRAGMA max_page_count = {pages}")
        connection.close()
        with pytest.raises(NotSavedError, match=r"study\.db: not saved: .*full.*make room on its disk.*before is safe"):
            fill(store)


def fill(store) -> None:
    with store.database.write() as session:
        session.execute(text("CREATE TABLE more (x TEXT)"))
        session.execute(text("INSERT INTO more VALUES (randomblob(1000000))"))


def test_the_visitor_sees_that_it_is_not_saved_and_the_log_has_the_reason(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("rankwell.web"), "propagate", True)
    app = new_application("test", Pages(Sessions(b"k" * 32, name="test", secure=False), templates=[], static=[]))

    @app.get("/save")
    def save() -> None:
        raise NotSavedError("/secret/study.db: not saved: database or disk is full: make room on its disk")

    response = TestClient(app, raise_server_exceptions=False).get("/save")
    assert response.status_code == 507
    assert "no room to save" in response.text
    assert "/secret" not in response.text
    assert "database or disk is full: make room on its disk" in caplog.text


@pytest.mark.parametrize("place", range(100, 4000, 650))
def test_a_damaged_database_opens_or_is_one_line(tmp_path: Path, place: int) -> None:
    make_study(tmp_path / "study.db").close()
    content = bytearray((tmp_path / "study.db").read_bytes())
    content[place : place + 40] = b"\xff" * 40
    (tmp_path / "study.db").write_bytes(content)
    told = ""
    try:
        open_store(tmp_path / "study.db").close()
    except RankwellError as error:
        told = str(error)
    assert "\n" not in told
