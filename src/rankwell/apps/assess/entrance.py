"""The first pages: introduction, consent, own work and own data."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from rankwell.apps.assess.site import site_of
from rankwell.apps.web import Session, markdown
from rankwell.judging.people import Account
from rankwell.judging.schema import DONE, OPEN
from rankwell.judging.study import ENGLISH_LEVELS

router = APIRouter(default_response_class=Response)


@router.get("/")
def start(request: Request) -> Response:
    """The start page: introduction, or the assessor's work."""
    site = site_of(request)
    account = site.account(request)
    if account is None:
        by_mail = request.app.state.door.postbox is not None
        return site.show(request, "landing.html", None, by_mail=by_mail)
    if account.administrator and not account.consented:
        return site.go("/admin")  # an administrator who does not grade needs no consent
    account = site.assessor(request)
    if account.paused:
        return site.show(request, "paused.html", account)
    queries = site.store.judging.queries(account.name)
    done = [query for query in queries if query.state == DONE]
    waiting = [query for query in queries if query.state == OPEN]
    return site.show(request, "start.html", account, done=done, waiting=waiting)


@router.get("/welcome")
def terms(request: Request) -> Response:
    """The study's terms."""
    site = site_of(request)
    return _terms(request, site.signed_in(request))


@router.post("/welcome")
def agree(
    request: Request,
    agreed: Annotated[str, Form(max_length=10)] = "",
    english: Annotated[int | None, Form(ge=1, le=len(ENGLISH_LEVELS))] = None,
) -> Response:
    """Record consent and the level of English."""
    site = site_of(request)
    account = site.signed_in(request)
    if not (agreed or account.consented):
        return _terms(request, account, "Please agree to the terms, or close this page.", english)
    if site.store.study.ask_english and english is None and account.english is None:
        return _terms(request, account, "Please say how well you know English.", english)
    if english is not None and site.store.study.ask_english:
        site.store.people.set_english(account.name, english)
    site.store.people.consent(account.name)
    return site.go("/")


def _terms(request: Request, account: Account, problem: str | None = None, english: int | None = None) -> Response:
    site = site_of(request)
    return site.show(
        request,
        "terms.html",
        account,
        200 if problem is None else 422,
        consent=markdown(site.store.study.consent),
        levels=ENGLISH_LEVELS,
        english=english or account.english,
        problem=problem,
    )


@router.get("/guidelines")
def guidelines(request: Request) -> Response:
    """The guidelines for grading."""
    site = site_of(request)
    account = site.signed_in(request)
    return site.show(request, "guidelines.html", account, guidelines=site.guidelines)


@router.get("/me")
def me(request: Request) -> Response:
    """The assessor's own data."""
    site = site_of(request)
    account = site.signed_in(request)
    return site.show(request, "me.html", account, address=site.store.people.address(account.name), problem=None)


@router.post("/me/sign-out")
def sign_out_everywhere(request: Request) -> Response:
    """End the assessor's sessions on all devices."""
    site = site_of(request)
    site.store.people.sign_out_everywhere(site.signed_in(request).name)
    return _gone(request, "/")


@router.post("/me/delete")
def delete_me(request: Request, sure: Annotated[str, Form(max_length=10)] = "") -> Response:
    """Delete the assessor's own data, after a confirmation."""
    site = site_of(request)
    account = site.signed_in(request)
    if not sure:
        address = site.store.people.address(account.name)
        problem = "Nothing was deleted: tick the box if you are sure."
        return site.show(request, "me.html", account, 422, address=address, problem=problem)
    site.store.people.delete(account.name, by=account.name)
    return _gone(request, "/gone")


@router.get("/gone")
def gone(request: Request) -> Response:
    """The page after the data are deleted."""
    return site_of(request).show(request, "gone.html", None)


def _gone(request: Request, path: str) -> Response:
    pages = site_of(request).pages
    response = RedirectResponse(pages.url(path), 303)
    pages.sessions.write(response, Session.begin())
    return response
