from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi import FastAPI
from visitor import Visitor

from inbox import mail_server
from rankwell.apps.assess.application import administrator_link, cookie_name, create_application
from rankwell.apps.web import Postbox
from rankwell.apps.web.mail import MailSettings
from rankwell.apps.web.middleware import HEADERS
from rankwell.core import ParameterError
from rankwell.judging.store import Store
from rankwell.store import moment
from studies import make_study

ADDRESS = "http://judge.example.org"


def routes(app: FastAPI, method: str) -> list[str]:
    """The paths of all pages, with something in the place of each parameter."""
    paths = app.openapi()["paths"]
    return sorted(re.sub(r"{\w+}", "1", path) for path, methods in paths.items() if method in methods)


def test_no_form_works_without_its_token(app: FastAPI, store: Store, visitor: Visitor) -> None:
    visitor.join(store, administrator=True)
    forms = routes(app, "post")
    assert len(forms) > 12
    for path in forms:
        assert visitor.post(path, data={"answer": "1", "sure": "yes"}).status_code == 403, path
    assert store.answers() == []
    assert len(store.people.accounts()) == 1


def test_every_answer_has_the_headers(app: FastAPI, store: Store, visitor: Visitor) -> None:
    visitor.join(store, administrator=True)
    for path in (*routes(app, "get"), "/nowhere", "/static/judge.js"):
        response = visitor.get(path, follow_redirects=False)
        assert response.status_code < 500
        for name, value in HEADERS.items():
            assert response.headers[name] == value, path
        if not path.startswith("/static"):
            assert response.headers["cache-control"] == "no-store", path
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_page_holds_what_the_policy_forbids(app: FastAPI, store: Store, visitor: Visitor) -> None:
    visitor.join(store, administrator=True)
    visitor.begin()
    for path in (*routes(app, "get"), "/judge/1/1"):
        page = visitor.get(path).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page), path
        assert not re.search(r"<script(?! src=\"/static/)", page), path


def test_pages_are_for_their_roles(app: FastAPI, store: Store) -> None:
    public = {"/", "/sign-in", "/join", "/sign-in/sent", "/sign-in/link", "/gone"}
    nobody, assessor = Visitor(app), Visitor(app)
    assessor.join(store)
    for path in routes(app, "get"):
        response = nobody.get(path, follow_redirects=False)
        if path not in public:
            assert (response.status_code, response.headers.get("location")) == (303, "/sign-in"), path
        if path.startswith("/admin"):
            assert assessor.get(path).status_code == 403, path
    for path in routes(app, "post"):
        if path.startswith("/admin"):
            fields = {"sure": "yes", "places": "1"}
            assert assessor.submit(path, **fields).status_code == 403, path
            assert nobody.submit(path, "/sign-in", **fields).url.path == "/sign-in", path


def test_nobody_answers_for_another(app: FastAPI, store: Store) -> None:
    ada, eve = Visitor(app), Visitor(app)
    ada.join(store)
    ada.begin()
    form = ada.form()
    eve.join(store)
    assert eve.submit(form, answer="3").status_code == 404
    assert eve.get(form).status_code == 404
    assert store.answers() == []


def test_a_session_ends_with_the_person_with_a_pause_of_rights_and_everywhere(app: FastAPI, store: Store) -> None:
    here, there = Visitor(app), Visitor(app)
    name = here.join(store)
    there.cookies.update(here.cookies)
    assert there.get("/me").status_code == 200
    here.submit("/me/sign-out")
    assert there.get("/me").url.path == "/sign-in"
    back = Visitor(app)
    name = back.join(store)
    store.people.pause(name)
    back.get("/judge")
    assert "has been paused" in back.get("/judge").text
    store.people.delete(name)
    assert back.get("/me").url.path == "/sign-in"


def test_signing_out_ends_the_session_and_a_copy_of_its_cookie(app: FastAPI, store: Store) -> None:
    here, copy = Visitor(app), Visitor(app)
    here.join(store)
    copy.cookies.update(here.cookies)
    assert copy.get("/me").status_code == 200
    here.submit("/sign-out")
    assert copy.get("/me").url.path == "/sign-in"


def test_signing_in_begins_a_new_session(app: FastAPI, store: Store) -> None:
    visitor = Visitor(app)
    visitor.get("/sign-in")
    name = cookie_name(store)
    before = visitor.cookies[name]
    visitor.join(store)
    assert visitor.cookies[name] != before
    planted = Visitor(app)
    planted.cookies.set(name, before, domain="judge.example.org")
    assert planted.get("/me").url.path == "/sign-in"


def test_cookies_and_links_follow_the_address(store: Store) -> None:
    app = create_application(store, key=b"k" * 32, base_url="https://judge.example.org/colds/")
    visitor = Visitor(app)
    response = visitor.get("/sign-in")
    assert "; Path=/colds;" in response.headers["set-cookie"]
    assert "; Secure" in response.headers["set-cookie"]
    assert "; HttpOnly" in response.headers["set-cookie"]
    assert 'action="/colds/sign-in/code"' in response.text
    assert app.state.site.invitation("A-B") == "https://judge.example.org/colds/join?code=A-B"


@pytest.mark.parametrize(
    "address", ["judge.example.org", "ftp://x.org", "https://x.org/?a=b", "javascript:alert(1)", ""]
)
def test_an_address_that_is_none_is_refused(store: Store, address: str) -> None:
    with pytest.raises(ParameterError, match="--base-url"):
        create_application(store, key=b"k" * 32, base_url=address)


def test_a_mailed_link_works_once_and_only_by_its_button(store: Store) -> None:
    with mail_server() as letters:
        postbox = Postbox(MailSettings("127.0.0.1", "study@example.org", letters.port, "none"))
        app = create_application(store, key=b"k" * 32, base_url=ADDRESS, postbox=postbox)
        ada, eve = Visitor(app), Visitor(app)
        code = store.invitations.invite()
        ada.submit("/sign-in/mail", "/sign-in", email="ada@example.org", code=code)
        link = re.findall(r"http://judge.example.org(\S+)", letters.wait()[0].text)[0]
        for _ in range(3):  # a mail program looks
            assert eve.get(link).status_code == 200
            assert eve.head(link).status_code in (200, 405)
        token = link.partition("token=")[2]
        assert ada.submit("/sign-in/link", "/sign-in", token=token).url.path == "/welcome"
        assert eve.submit("/sign-in/link", "/sign-in", token=token).status_code == 410
        postbox.close()


def test_a_mailed_link_grows_old(tmp_path: Path) -> None:
    store = make_study(tmp_path / "later.db", open_to_all=True)
    with store:
        token = store.sign_in.request_link("ada@example.org", "here")
        later = Store(store.database, clock=lambda: moment() + timedelta(hours=1))
        visitor = Visitor(create_application(later, key=b"k" * 32, base_url=ADDRESS))
        assert visitor.submit("/sign-in/link", "/sign-in", token=token).status_code == 410


def test_known_and_unknown_people_read_the_same(store: Store) -> None:
    with mail_server() as letters:
        postbox = Postbox(MailSettings("127.0.0.1", "study@example.org", letters.port, "none"))
        app = create_application(store, key=b"k" * 32, base_url=ADDRESS, postbox=postbox)
        known = Visitor(app)
        known.submit("/sign-in/mail", "/sign-in", email="ada@example.org", code=store.invitations.invite())
        letters.wait()
        known.submit("/sign-in/link", "/sign-in", token=re.findall(r"token=(\S+)", letters.found[0].text)[0])
        answers = []
        for email in ("ada@example.org", "nobody@example.org"):
            response = Visitor(app).submit("/sign-in/mail", "/sign-in", email=email)
            answers.append((response.status_code, response.url.path, response.text))
        assert answers[0] == answers[1]
        postbox.close()
        assert [letter.to for letter in letters.found] == [["ada@example.org"]] * 2


def test_guessing_codes_and_asking_for_links_is_limited(app: FastAPI, store: Store) -> None:
    visitor = Visitor(app)
    token = visitor.token()
    statuses = [
        visitor.post("/sign-in/code", data={"csrf": token, "code": f"{number:04}-AAAA-AAAA-AAAA"}).status_code
        for number in range(40)
    ]
    assert set(statuses[:20]) == {403}
    assert statuses[-1] == 429
    right = store.invitations.invite()
    assert visitor.post("/sign-in/code", data={"csrf": token, "code": right}).status_code == 429


def test_nothing_personal_stands_in_an_export(app: FastAPI, store: Store) -> None:
    store.sign_in.sign_in(
        store.sign_in.request_link("ada@example.org", "here", store.invitations.invite()) or "", "here"
    )
    admin = Visitor(app)
    admin.join(store, administrator=True)
    admin.begin()
    for grade in (1, 2, 3, 4):
        admin.grade(grade, note="ask ada@example.org")
    names = re.findall(r"/admin/export/([\w.]+)", admin.get("/admin/results").text)
    assert names == ["answers.tsv", "answers.csv", "answers.json", "liberal.qrels", "strict.qrels", "graded.qrels"]
    for name in names:
        response = admin.get(f"/admin/export/{name}")
        assert response.status_code == 200
        assert response.headers["content-disposition"] == f'attachment; filename="colds-and-cures-{name}"'
        assert "ada@" not in response.text


def test_two_studies_on_one_host_do_not_sign_each_other_out(store: Store, tmp_path: Path) -> None:
    with make_study(tmp_path / "other.db") as other:
        assert cookie_name(store) != cookie_name(other)
        first, second = (
            Visitor(create_application(one, key=b"k" * 32, base_url="http://judge.example.org"))
            for one in (store, other)
        )
        first.join(store)
        second.cookies = first.cookies  # one browser
        second.join(other)
        assert first.get("/me").url.path == "/me"
        assert second.get("/me").url.path == "/me"


def test_the_administrators_link_is_made_once_and_can_be_replaced(store: Store) -> None:
    first = administrator_link(store, "http://judge.example.org", None)
    assert first is not None
    assert administrator_link(store, "http://judge.example.org", None) is None
    second = administrator_link(store, "http://judge.example.org", None, new_code=True)
    assert second is not None
    old, new = (link.partition("code=")[2] for link in (first, second))
    app = create_application(store, key=b"k" * 32, base_url="http://judge.example.org")
    assert Visitor(app).submit("/sign-in/code", "/sign-in", code=old).status_code == 403
    assert "You are in" in Visitor(app).submit("/sign-in/code", "/sign-in", code=new).text


def test_an_address_with_an_apostrophe_gets_its_link(store: Store) -> None:
    with mail_server() as letters:
        postbox = Postbox(MailSettings("127.0.0.1", "study@example.org", letters.port, "none"))
        app = create_application(store, key=b"k" * 32, base_url=ADDRESS, postbox=postbox)
        code = store.invitations.invite()
        answer = Visitor(app).submit("/sign-in/mail", "/sign-in", email="o'neil@x.ie", code=code)
        assert answer.url.path == "/sign-in/sent"
        assert "token=" in letters.wait()[0].text
        postbox.close()
