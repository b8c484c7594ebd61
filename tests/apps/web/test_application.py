from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from fastapi import Form, HTTPException, Request
from fastapi.testclient import TestClient
from starlette.responses import PlainTextResponse, Response

from rankwell.apps.web import Pages, Session, Sessions
from rankwell.apps.web.application import log_to_stderr, new_application
from rankwell.apps.web.middleware import HEADERS, LARGEST_BODY

KEY = b"k" * 32


def application(tmp_path: Path, *, secure: bool = False):
    (tmp_path / "page.html").write_text(
        '{% extends "base.html" %}{% block content %}<p id="said">{{ said }}</p><input name="csrf" value="{{ csrf }}">'
        "{% endblock %}"
    )
    sessions = Sessions(KEY, name="test", secure=secure)
    pages = Pages(sessions, templates=[tmp_path], static=[])
    app = new_application("test", pages)

    @app.get("/say/{what}")
    def say(request: Request, what: str) -> Response:
        return pages.show(request, "page.html", said=what)

    @app.post("/say")
    def post(words: Annotated[str, Form()]) -> Response:
        return PlainTextResponse(words)

    @app.get("/missing")
    def missing() -> Response:
        raise HTTPException(404, detail="secret detail")

    @app.get("/broken/{token}")
    def broken(token: str) -> Response:
        raise ValueError(f"what ada@example.org typed: {token}")

    @app.get("/unfinished")
    def unfinished(request: Request) -> Response:
        return pages.show(request, "page.html")

    return app


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(application(tmp_path), follow_redirects=False) as found:
        yield found


def token(client: TestClient) -> str:
    return re.findall(r'name="csrf" value="([^"]+)"', client.get("/say/hello").text)[0]


@pytest.mark.parametrize(
    "path", ["/say/x", "/nothing", "/missing", "/broken/x", "/static/rankwell.css", "/static/x", "/favicon.ico"]
)
def test_every_response_carries_the_headers(client: TestClient, path: str) -> None:
    response = client.get(path)
    for name, value in HEADERS.items():
        assert response.headers[name] == value
    assert "cache-control" in response.headers
    assert "server" not in response.headers


def test_pages_are_kept_nowhere_and_files_for_a_year(client: TestClient) -> None:
    page = client.get("/say/x")
    assert page.headers["cache-control"] == "no-store"
    style = re.findall(r'href="(/static/rankwell.css\?v=\w+)"', page.text)[0]
    assert "immutable" in client.get(style).headers["cache-control"]
    assert client.get("/static/rankwell.css").headers["cache-control"] == "no-cache"


def test_https_is_asked_for_where_there_is_https(tmp_path: Path) -> None:
    plain = TestClient(application(tmp_path)).get("/nothing")
    secure = TestClient(application(tmp_path, secure=True)).get("/nothing")
    assert "strict-transport-security" not in plain.headers
    assert secure.headers["strict-transport-security"].startswith("max-age=")


@pytest.mark.parametrize("name", ["../pages.py", "..%2fpages.py", "%2e%2e/pages.py", "/etc/passwd", "base.html"])
def test_only_static_files_can_be_asked_for(client: TestClient, name: str) -> None:
    assert client.get(f"/static/{name}").status_code in (404, 405)


def test_text_is_escaped_whatever_a_template_is_called(client: TestClient) -> None:
    page = client.get("/say/%3Cscript%3Ealert(1)%3C%2Fscript%3E").text
    assert '<p id="said">&lt;script&gt;' in page or client.get("/say/%3Cb%3E").text.count("&lt;b&gt;") == 1
    assert "<script>alert" not in page


def test_a_form_needs_the_token_of_its_session(client: TestClient) -> None:
    right = token(client)
    assert client.post("/say", data={"words": "a"}).status_code == 403
    assert client.post("/say", data={"words": "a", "csrf": right[:-1]}).status_code == 403
    other = Sessions(KEY, name="test", secure=False)
    assert client.post("/say", data={"words": "a", "csrf": other.token(Session.begin())}).status_code == 403
    done = client.post("/say", data={"words": "a", "csrf": right})
    assert (done.status_code, done.text) == (200, "a")


def test_no_other_way_of_sending_gets_round_the_token(client: TestClient) -> None:
    right = token(client)
    assert client.post("/say", json={"words": "a", "csrf": right}).status_code == 415
    assert client.post("/say", files={"words": b"a", "csrf": right.encode()}).status_code == 415
    assert client.post(f"/say?csrf={right}", data={"words": "a"}).status_code == 403
    assert client.put("/say", data={"words": "a"}).status_code == 403
    crossing = {"sec-fetch-site": "cross-site"}
    assert client.post("/say", data={"words": "a", "csrf": right}, headers=crossing).status_code == 403


def test_what_is_too_long_is_turned_away(client: TestClient) -> None:
    right = token(client)
    fits = client.post("/say", data={"words": "a" * (LARGEST_BODY - 200), "csrf": right})
    assert fits.status_code == 200
    assert client.post("/say", data={"words": "a" * LARGEST_BODY, "csrf": right}).status_code == 413
    form = {"content-type": "application/x-www-form-urlencoded"}
    in_parts = (b"a" * 10_000 for _ in range(100))  # no length is declared
    assert client.post("/say", content=in_parts, headers=form).status_code == 413
    many = "&".join(f"a{number}=1" for number in range(2000))
    assert client.post("/say", content=many, headers=form).status_code == 400


def test_errors_tell_a_visitor_nothing_about_our_insides(client: TestClient) -> None:
    missing = client.get("/missing")
    assert (missing.status_code, "secret detail" in missing.text) == (404, False)
    assert "There is nothing at this address" in missing.text
    broken = client.get("/broken/tok3n")
    assert broken.status_code == 500
    assert "It is our fault" in broken.text
    assert not any(word in broken.text for word in ("ValueError", "ada@example.org", "tok3n", "Traceback"))
    assert client.post("/say", data={"csrf": token(client)}).status_code == 422
    assert client.get("/say").status_code == 405


def test_a_page_with_a_missing_name_is_a_fault_and_not_a_blank(client: TestClient) -> None:
    assert client.get("/unfinished").status_code == 500


def test_times_in_the_log_are_utc(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ours = logging.getLogger("rankwell.web")
    for name in ("handlers", "propagate", "level"):
        monkeypatch.setattr(ours, name, getattr(ours, name))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        log_to_stderr(quiet=False)
        record = ours.makeRecord(ours.name, logging.INFO, __file__, 1, "GET / 200", (), None)
        record.created = 0.0
        ours.handle(record)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert capsys.readouterr().err == "1970-01-01T00:00:00Z GET / 200\n"


def test_the_log_has_routes_and_nobody(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="rankwell.web"):
        client.get("/broken/tok3n?email=ada@example.org")
        client.get("/nothing/tok3n")
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("rankwell")]
    assert any(line.startswith("GET /broken/{token} 500 ") for line in lines)
    assert any(line.startswith("GET - 404 ") for line in lines)
    assert any("ValueError" in line and "test_application.py" in line for line in lines)
    assert not any("tok3n" in line or "ada@" in line for line in lines)
