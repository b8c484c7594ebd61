"""The first pages: introduction, consent, own work and own data."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.responses import Response

from rankwell.apps.assess.site import Visit, check_assessor
from rankwell.apps.web import markdown
from rankwell.judging.schema import DONE, OPEN
from rankwell.judging.study import ENGLISH_LEVELS

router = APIRouter(default_response_class=Response)


@router.get("/")
def start(visit: Visit) -> Response:
    """The start page: introduction, or the assessor's work."""
    if visit.account is None:
        return visit.show("landing.html", by_mail=visit.site.postbox is not None)
    if visit.account.administrator and not visit.account.consented:
        return visit.go("/admin")  # an administrator who does not grade needs no consent
    check_assessor(visit)
    if visit.account.paused:
        return visit.show("paused.html")
    queries = visit.store.judging.queries(visit.account.name)
    done, waiting = ([query for query in queries if query.state == state] for state in (DONE, OPEN))
    return visit.show("start.html", done=done, waiting=waiting)


@router.get("/welcome")
def terms(visit: Visit) -> Response:
    """The study's terms."""
    return _terms(visit)


@router.post("/welcome")
def agree(
    visit: Visit,
    agreed: Annotated[str, Form(max_length=10)] = "",
    english: Annotated[int | None, Form(ge=1, le=len(ENGLISH_LEVELS))] = None,
) -> Response:
    """Record consent and the level of English."""
    account = visit.me
    if not (agreed or account.consented):
        return _terms(visit, "Please agree to the terms, or close this page.", english)
    if visit.study.ask_english and english is None and account.english is None:
        return _terms(visit, "Please say how well you know English.", english)
    if english is not None and visit.study.ask_english:
        visit.store.people.set_english(account.name, english)
    visit.store.people.consent(account.name)
    return visit.go("/")


def _terms(visit: Visit, problem: str | None = None, english: int | None = None) -> Response:
    known = {"english": english or visit.me.english, "levels": ENGLISH_LEVELS, "problem": problem}
    return visit.show("terms.html", 422 if problem else 200, consent=markdown(visit.study.consent), **known)


@router.get("/guidelines")
def guidelines(visit: Visit) -> Response:
    """The guidelines for grading."""
    return visit.show("guidelines.html", account=visit.me, guidelines=visit.site.guidelines)


@router.get("/me")
def me(visit: Visit) -> Response:
    """The assessor's own data."""
    return _my_data(visit)


def _my_data(visit: Visit, problem: str | None = None) -> Response:
    address = visit.store.people.address(visit.me.name)
    return visit.show("me.html", 422 if problem else 200, address=address, problem=problem)


@router.post("/me/sign-out")
def sign_out_everywhere(visit: Visit) -> Response:
    """End the assessor's sessions on all devices."""
    visit.store.people.sign_out_everywhere(visit.me.name)
    visit.begin()
    return visit.go("/")


@router.post("/me/delete")
def delete_me(visit: Visit, sure: Annotated[str, Form(max_length=10)] = "") -> Response:
    """Delete the assessor's own data, after a confirmation."""
    if not sure:
        return _my_data(visit, "Nothing was deleted: tick the box if you are sure.")
    visit.store.people.delete(visit.me.name, by=visit.me.name)
    visit.begin()
    return visit.go("/gone")


@router.get("/gone")
def gone(visit: Visit) -> Response:
    """The page after the data are deleted."""
    return visit.show("gone.html")
