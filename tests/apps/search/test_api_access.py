"""Keys, roles, names: who is let in, and who is not."""

from __future__ import annotations

import base64
import stat
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import pytest
from serving_api import key, make_index, served, settings_for

from rankwell.apps.search.access import ROLES, WRONG_TRIES, Keys
from rankwell.core import ParameterError

PAPER = {"fields": {"title": "Zebra"}}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return make_index(tmp_path / "papers")


def test_reading_is_open_and_writing_needs_a_key(index: Path) -> None:
    settings = settings_for(index)
    with served(settings) as client:
        assert client.get("/api/search?q=soap").status_code == 200
        assert client.post("/api/search", json={"q": "soap"}).status_code == 200
        nobody = client.put("/api/documents/z", json=PAPER)
        assert nobody.status_code == 403
        assert "rankwell serve keys add" in nobody.json()["expected"]
        reader, writer = key(settings, "read"), key(settings, "write")
        none = client.put("/api/documents/z", json=PAPER)
        assert (none.status_code, none.headers["www-authenticate"]) == (401, "Bearer")
        assert client.put("/api/documents/z", json=PAPER, headers=reader).status_code == 403
        assert client.delete("/api/documents/z", headers=reader).status_code == 403
        assert client.post("/api/judgments", json={}, headers=reader).status_code == 403
        assert client.put("/api/documents/z", json=PAPER, headers=writer).status_code == 201


def test_a_private_server_is_closed_but_for_its_health(index: Path) -> None:
    settings = settings_for(index, private=True)
    reader = key(settings, "read")
    with served(settings) as client:
        for path in ("/api/search?q=soap", "/api/index", "/api/documents/p1", "/metrics", "/openapi.json", "/"):
            assert client.get(path).status_code == 401, path
            assert client.get(path, headers=reader).status_code == 200, path
        assert client.post("/api/search", json={"q": "x"}).status_code == 401
        assert client.get("/health").status_code == 200
        secret = reader["Authorization"].removeprefix("Bearer ")
        assert client.get("/api/index", headers={"x-api-key": secret}).status_code == 200
        assert client.get("/api/index", headers={"x-api-key": secret + "x"}).status_code == 401
        basic = base64.b64encode(f"anyone:{secret}".encode()).decode()
        assert client.get("/", headers={"authorization": f"Basic {basic}"}).status_code == 200
        asked = client.get("/")
        assert asked.headers["www-authenticate"].startswith("Basic ")


def test_a_key_that_was_removed_opens_nothing_any_more(index: Path) -> None:
    settings = settings_for(index, private=True)
    reader = key(settings, "read")
    with served(settings) as client:
        assert client.get("/api/index", headers=reader).status_code == 200
        assert settings.keys is not None
        Keys(settings.keys).remove("read-0")
        assert client.get("/api/index", headers=reader).status_code == 401


def test_guessing_keys_is_stopped(index: Path) -> None:
    settings = settings_for(index)
    key(settings, "write")
    with served(settings) as client:
        tries = [client.delete("/api/documents/p1", headers={"x-api-key": str(n)}) for n in range(WRONG_TRIES + 1)]
    assert [done.status_code for done in tries] == [*([401] * WRONG_TRIES), 429]
    assert tries[-1].headers["retry-after"] == "60"


def test_the_file_of_keys_holds_no_key(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys.json")
    secret = keys.add("ann", "write")
    written = (tmp_path / "keys.json").read_text()
    assert secret not in written
    assert secret.removeprefix("rankwell_") not in written
    assert keys.find(secret) == keys.all()[0]
    assert keys.find(secret[:-1]) is None
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize(("name", "role"), [("ann", "read"), ("", "read"), ("a b", "read"), ("bob", "king")])
def test_names_are_plain_and_unique_and_roles_are_known(tmp_path: Path, name: str, role: str) -> None:
    keys = Keys(tmp_path / "keys.json")
    keys.add("ann", "read")
    with pytest.raises(ParameterError):
        keys.add(name, role)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_includes_those_before_it(tmp_path: Path, role: str) -> None:
    keys = Keys(tmp_path / "keys.json")
    found = keys.find(keys.add("ann", role))
    assert found is not None
    assert [other for other in ROLES if found.may(other)] == list(ROLES[: ROLES.index(role) + 1])


def test_judging_and_reading_judgments_have_roles_of_their_own(index: Path, tmp_path: Path) -> None:
    settings = settings_for(index, judgments=tmp_path / "thumbs.jsonl")
    grade = {"query": "soap", "id": "p2", "grade": 1}
    with served(settings) as client:
        assert client.get("/api/judgments").status_code == 403
        roles = {role: key(settings, role) for role in ROLES}
        assert client.get("/api/judgments").status_code == 401
        judged = {role: client.post("/api/judgments", json=grade, headers=of).status_code for role, of in roles.items()}
        assert judged == {"read": 403, "judge": 200, "write": 200, "admin": 200}
        seen = {role: client.get("/api/judgments", headers=of).status_code for role, of in roles.items()}
        assert seen == {"read": 403, "judge": 403, "write": 403, "admin": 200}
        put = {role: client.put("/api/documents/z", json=PAPER, headers=of).status_code for role, of in roles.items()}
        assert put == {"read": 403, "judge": 403, "write": 201, "admin": 200}
        grades = client.get("/api/judgments", headers=roles["admin"]).json()["grades"]
        assert [given["who"] for given in grades] == ["admin-3", "judge-1", "write-2"]


def test_keys_of_older_versions_are_read(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys.json")
    secret = keys.add("ann", "write")
    entry = {name: value for name, value in asdict(keys.all()[0]).items() if name != "session"}
    (tmp_path / "keys.json").write_bytes(orjson.dumps({"version": 1, "keys": [entry]}))
    found = Keys(tmp_path / "keys.json").find(secret)
    assert found is not None
    assert found.may("write")


def test_a_name_that_others_made_point_here_is_not_answered(index: Path) -> None:
    with served(settings_for(index)) as client:
        assert client.get("/api/index", headers={"host": "evil.example.org"}).status_code == 421
        assert client.get("/api/index", headers={"host": "localhost:8080"}).status_code == 200
    with served(settings_for(index, base_url="https://search.example.org")) as client:
        assert client.get("/api/index", headers={"host": "search.example.org"}).status_code == 200
    with served(settings_for(index, host="0.0.0.0")) as client:  # noqa: S104 -- nothing listens in this test
        assert client.get("/api/index", headers={"host": "anything"}).status_code == 200


def test_private_without_keys_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="--private"):
        settings_for(make_index(tmp_path / "papers"), private=True, keys=None)


def test_another_site_cannot_make_a_browser_write(index: Path) -> None:
    settings = settings_for(index)
    headers: dict[str, Any] = {**key(settings, "write"), "content-type": "text/plain"}
    with served(settings) as client:
        assert client.post("/api/documents", content=b'{"documents": []}', headers=headers).status_code == 415
        assert "access-control-allow-origin" not in client.get("/api/index", headers={"origin": "http://x"}).headers


KING = '{"keys": [{"name": "ann", "role": "king", "sha256": "x", "made": "x"}]}'


@pytest.mark.parametrize("written", ["", "{}", '{"keys": [{"name": "ann"}]}', "[1]", KING])
def test_where_the_keys_cannot_be_read_nobody_passes(index: Path, written: str) -> None:
    settings = settings_for(index, private=True)
    reader = key(settings, "read")
    with served(settings) as client:
        assert settings.keys is not None
        settings.keys.unlink()
        settings.keys.write_text(written)
        refused = client.get("/api/index", headers=reader)
        assert (refused.status_code, refused.json()["error"]) == (503, "the keys cannot be read")
        assert str(settings.keys) not in refused.text
        assert client.get("/health").status_code == 200


def test_refusals_at_the_door_are_as_safe_as_any_answer(index: Path) -> None:
    with served(settings_for(index)) as client:
        for refused in (client.put("/api/documents/z", json={}), client.get("/", headers={"host": "evil.example"})):
            assert refused.headers["x-content-type-options"] == "nosniff"
            assert refused.headers["cache-control"] == "no-store"
