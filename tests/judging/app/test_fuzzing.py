"""Whatever is sent to whichever page, by whomever: no fault of ours comes of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from visitor import Visitor

from rankwell.apps.assess.application import create_application
from rankwell.apps.web.middleware import HEADERS
from rankwell.judging.store import Store
from studies import make_study

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202eright to left",
    "NUL\x00 and \x1b[31m",
    "{{ 7 * 7 }}{% raise %}",
    "' OR 1=1; DROP TABLE grades; --",
    "../../etc/passwd",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16") * 50,
    "9" * 400,
    "-1",
    "1e309",
    "",
)
ROLES = ("nobody", "assessor", "administrator")


def someone(app: Any, store: Store, role: str) -> Visitor:
    visitor = Visitor(app, raise_server_exceptions=False)
    if role != "nobody":
        visitor.join(store, administrator=role == "administrator")
        visitor.begin()
    return visitor


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_schemathesis_finds_no_fault(tmp_path: Any, role: str) -> None:
    with make_study(tmp_path / "study.db") as store:
        app = create_application(store, key=b"k" * 32, base_url="http://judge.example.org", describe=True)
        visitor = someone(app, store, role)
        schema = schemathesis.openapi.from_dict(app.openapi())
        tried = 0
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path in ("/me/delete", "/me/sign-out", "/sign-out"):
                continue  # who is gone tries nothing more
            tried += try_operation(operation, visitor)
        assert tried > 200


def try_operation(operation: Any, visitor: Visitor) -> int:
    """Send what schemathesis thinks of to one operation; how many times."""
    statuses: list[int] = []

    @given(case=operation.as_strategy())
    @settings(max_examples=25, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    def attempt(case: Any) -> None:
        fields = case.body if isinstance(case.body, dict) else {}
        path = case.formatted_path
        query = {name: str(value) for name, value in (case.query or {}).items()}
        if case.method.upper() == "GET":
            response = visitor.get(path, params=query, follow_redirects=False)
        else:
            body = {name: str(value) for name, value in fields.items()} | {"csrf": visitor.token("/sign-in")}
            response = visitor.post(path, data=body, params=query, follow_redirects=False)
        assert response.status_code < 500, (case.method, path, fields)
        assert response.headers["content-security-policy"] == HEADERS["content-security-policy"]
        statuses.append(response.status_code)

    attempt()
    return len(statuses)


@pytest.mark.parametrize(
    "role", ["assessor", *(pytest.param(role, marks=pytest.mark.slow) for role in ("nobody", "administrator"))]
)
def test_hostile_strings_in_every_field_are_refused_or_shown_as_text(tmp_path: Any, role: str) -> None:
    with make_study(tmp_path / "study.db") as store:
        app = create_application(store, key=b"k" * 32, base_url="http://judge.example.org")
        visitor = someone(app, store, role)
        token = visitor.token()
        for path, methods in app.openapi()["paths"].items():
            if path in ("/me/delete", "/me/sign-out", "/sign-out") or "post" not in methods:
                continue
            for number, text in enumerate(HOSTILE):
                here = re.sub(r"{\w+}", "1", path)
                names = ("code", "email", "token", "note", "english", "places", "days", "role", "agreed", "sure")
                fields = {"answer": "note", **dict.fromkeys(names, text), "csrf": token}
                response = visitor.post(here, data=fields, headers={"x-forwarded-for": f"10.0.0.{number}"})
                assert response.status_code < 500, (path, text)
                assert "<script>alert" not in response.text
                assert "<img src=x" not in response.text
        for path in ("/", "/judge", "/judge/1/1", "/me", "/admin", "/admin/invitations", "/admin/events"):
            page = visitor.get(path)
            assert page.status_code < 500
            assert "<script>alert" not in page.text
            assert ">49<" not in page.text


def test_a_note_of_a_megabyte_is_too_long_and_a_long_one_is_not(tmp_path: Any) -> None:
    with make_study(tmp_path / "study.db") as store:
        visitor = someone(create_application(store, key=b"k" * 32, base_url="http://j.org"), store, "assessor")
        assert visitor.grade(3, note="x" * 1_000_000).status_code == 413
        assert visitor.grade(3, note="x" * 12_000).status_code == 422
        assert store.answers() == []
        assert visitor.grade(3, note="ü\r\n" * 3_000).status_code == 200
        assert len(store.answers()) == 1


@given(st.text(max_size=40))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_note_comes_back_as_it_was(shared: tuple[Visitor, Store], note: str) -> None:
    visitor, _ = shared
    form = visitor.form()
    body = {"csrf": visitor.token("/me"), "answer": "note", "note": note}
    assert visitor.post(form, data=body, follow_redirects=False).status_code == 303
    assert visitor.get(form).status_code == 200


@pytest.fixture(scope="module")
def shared(tmp_path_factory: Any) -> Any:
    with make_study(tmp_path_factory.mktemp("notes") / "study.db") as store:
        app = create_application(store, key=b"k" * 32, base_url="http://judge.example.org")
        yield someone(app, store, "assessor"), store
