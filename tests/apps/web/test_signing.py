from __future__ import annotations

import stat
import time
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from rankwell.apps.web import Session, Sessions, Signer, secret_key
from rankwell.apps.web import sessions as sessions_module
from rankwell.core import RankwellError, home

KEY = b"k" * 32


@given(st.binary(max_size=60))
def test_a_signed_value_reads_back(value: bytes) -> None:
    assert Signer(KEY, "session").unsign(Signer(KEY, "session").sign(value)) == value


@given(st.binary(min_size=1, max_size=30), st.data())
def test_a_changed_value_is_refused(value: bytes, data: st.DataObject) -> None:
    signed = Signer(KEY, "session").sign(value)
    place = data.draw(st.integers(0, len(signed) - 1))
    # The last character of each part has spare bits, which change nothing that is signed.
    changed = signed[:place] + ("A" if signed[place] != "A" else "B") + signed[place + 1 :]
    found = Signer(KEY, "session").unsign(changed)
    assert found is None or found == value


@given(st.text(max_size=50))
def test_anything_else_is_refused(text: str) -> None:
    assert Signer(KEY, "session").unsign(text) is None


def test_a_value_for_one_purpose_or_key_is_worth_nothing_for_another() -> None:
    signed = Signer(KEY, "session").sign(b"ada")
    assert Signer(KEY, "form").unsign(signed) is None
    assert Signer(b"x" * 32, "session").unsign(signed) is None


def test_the_key_is_made_once_and_only_its_owner_can_read_it() -> None:
    first = secret_key()
    assert secret_key() == first
    file = home() / "web" / "secret.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == ["secret.key"]


def test_programs_that_start_together_get_the_same_key(tmp_path: Path) -> None:
    found: list[bytes] = []
    threads = [Thread(target=lambda: found.append(secret_key(tmp_path / "deep" / "key"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(KEY)
    file.chmod(0o644)
    with pytest.raises(RankwellError, match="mode 0644: chmod 600"):
        secret_key(file)


def test_the_environment_has_the_first_word_about_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWELL_SECRET_KEY", "e" * 40)
    assert secret_key() == b"e" * 40
    monkeypatch.setenv("RANKWELL_SECRET_KEY", "short")
    with pytest.raises(RankwellError, match="at least 32 characters"):
        secret_key()


def cookie_of(sessions: Sessions, session: Session) -> tuple[str, str]:
    response = Response()
    sessions.write(response, session)
    header = response.headers["set-cookie"]
    return header.partition("=")[2].partition(";")[0], header


def test_a_session_reads_back_from_its_cookie() -> None:
    sessions = Sessions(KEY, name="assess", secure=False)
    session = Session.begin("a1b2", generation=3)
    assert sessions.read(cookie_of(sessions, session)[0]) == session
    assert sessions.read(None) is None
    assert sessions.read("nonsense") is None


def test_cookies_are_out_of_reach_of_scripts_and_other_sites() -> None:
    plain = cookie_of(Sessions(KEY, name="assess", secure=False), Session.begin())[1]
    assert plain.startswith("assess=")
    assert "; HttpOnly" in plain
    assert "; SameSite=lax" in plain
    assert "; Secure" not in plain
    secure = cookie_of(Sessions(KEY, name="assess", secure=True), Session.begin())[1]
    assert secure.startswith("__Host-assess=")
    assert "; Secure" in secure
    assert "; Path=/;" in secure


def test_a_session_ends_after_its_lifetime(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(KEY, name="assess", secure=False)
    cookie, _ = cookie_of(sessions, Session.begin("a"))
    later = time.time() + sessions_module.LIFETIME
    monkeypatch.setattr(sessions_module.time, "time", lambda: later + 1)
    assert sessions.read(cookie) is None


def test_an_ended_session_is_refused_by_every_server_that_shares_the_file() -> None:
    here, there = (Sessions(KEY, name="assess", secure=False) for _ in range(2))
    mine, other = Session.begin("a"), Session.begin("a")
    cookies = [cookie_of(here, session)[0] for session in (mine, other)]
    assert [there.read(cookie) for cookie in cookies] == [mine, other]
    here.ended.add(mine)
    for sessions in (here, there, Sessions(KEY, name="assess", secure=False)):
        assert [sessions.read(cookie) for cookie in cookies] == [None, other]
    assert mine.nonce not in here.ended.path.read_text()


def test_a_form_token_belongs_to_one_session() -> None:
    sessions = Sessions(KEY, name="assess", secure=False)
    mine, other = Session.begin("a"), Session.begin("a")
    assert sessions.is_token(mine, sessions.token(mine))
    assert not sessions.is_token(other, sessions.token(mine))
    assert not sessions.is_token(None, sessions.token(mine))
    assert not sessions.is_token(mine, "ü\x00")
