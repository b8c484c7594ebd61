"""Signing in by a mailed link, an invitation or a return code; then introduction, consent, own work and own data."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Query
from starlette.responses import Response

from rankwell.apps.assess.site import Visit, check_assessor
from rankwell.apps.web import Mail, markdown, normalised_address
from rankwell.judging.schema import DONE, OPEN
from rankwell.judging.study import ENGLISH_LEVELS, NotThereError

router = APIRouter(default_response_class=Response)
LETTER = """\
Hello,

this link signs you in to "{title}". It works once, for half an hour:

{link}

If you did not ask for it, somebody may have mistyped their address: just ignore this mail.
"""
Code = Annotated[str, Form(max_length=100)]


@router.get("/sign-in")
def sign_in(visit: Visit) -> Response:
    """The sign-in page."""
    return _ways(visit)


@router.get("/join")
def join(visit: Visit, code: Annotated[str, Query(max_length=100)] = "") -> Response:
    """The page of an invitation link. Its code is checked on use, so that nobody can try codes here."""
    return _ways(visit, code=code)


@router.post("/sign-in/mail")
def send_link(visit: Visit, email: Annotated[str, Form(max_length=1000)], code: Code = "") -> Response:
    """Mail a link, if the address is known or the code is valid. The page says the same for both."""
    place, postbox = visit.count_try(), visit.site.postbox
    if postbox is None:
        raise HTTPException(404)
    address = normalised_address(email)
    if address is None:
        return _ways(visit.refuse("This is not an e-mail address."), code=code, email=email[:254])
    token = visit.store.sign_in.request_link(address, place, code.strip() or None)
    if token is not None:
        title = " ".join(visit.study.title.split())
        letter = LETTER.format(title=title, link=visit.site.link(token))
        postbox.post(Mail(address, f"Sign in: {title[:100]}", letter))
    return visit.go("/sign-in/sent")


@router.get("/sign-in/sent")
def sent(visit: Visit) -> Response:
    """The page after asking for a link, the same for everyone."""
    return visit.show("sent.html")


@router.get("/sign-in/link")
def link(visit: Visit, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The page of a mailed link, with a button."""
    return visit.show("link.html", token=token)


@router.post("/sign-in/link")
def use_link(visit: Visit, token: Annotated[str, Form(max_length=200)]) -> Response:
    """Sign in with a mailed link."""
    place = visit.count_try()
    try:
        account = visit.store.sign_in.sign_in(token, place)
    except NotThereError:
        raise HTTPException(410) from None
    visit.begin(account.name, account.session)
    return visit.go("/")


@router.post("/sign-in/code")
def use_code(visit: Visit, code: Code) -> Response:
    """Sign in with a code."""
    place = visit.count_try()
    try:
        welcome = visit.store.invitations.redeem(code, place)
    except NotThereError:
        return _ways(visit.refuse("This code is not valid, or not valid any more."), 403)
    visit.begin(welcome.account.name, welcome.account.session)
    if welcome.return_code is None:
        return visit.go("/")
    return visit.show("return_code.html", return_code=welcome.return_code)  # only here


@router.post("/sign-out")
def sign_out(visit: Visit) -> Response:
    """End this browser's session."""
    visit.end()
    return visit.go("/")


def _ways(visit: Visit, status: int | None = None, *, code: str = "", email: str = "") -> Response:
    return visit.show("sign_in.html", status, by_mail=visit.site.postbox is not None, code=code, email=email)


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
        return _terms(visit.refuse("Please agree to the terms, or close this page."), english)
    if visit.study.ask_english and english is None and account.english is None:
        return terms(visit.refuse("Please say how well you know English."))
    if english is not None and visit.study.ask_english:
        visit.store.people.set_english(account.name, english)
    visit.store.people.consent(account.name)
    return visit.go("/")


def _terms(visit: Visit, english: int | None = None) -> Response:
    english, consent = english or visit.me.english, markdown(visit.study.consent)
    return visit.show("terms.html", english=english, levels=ENGLISH_LEVELS, consent=consent)


@router.get("/guidelines")
def guidelines(visit: Visit) -> Response:
    """The guidelines for grading."""
    return visit.show("guidelines.html", account=visit.me, guidelines=visit.site.guidelines)


@router.get("/me")
def me(visit: Visit) -> Response:
    """The assessor's own data."""
    return visit.show("me.html", address=visit.store.people.address(visit.me.name))


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
        return me(visit.refuse("Nothing was deleted: tick the box if you are sure."))
    visit.store.people.delete(visit.me.name, by=visit.me.name)
    visit.begin()
    return visit.go("/gone")


@router.get("/gone")
def gone(visit: Visit) -> Response:
    """The page after the data are deleted."""
    return visit.show("gone.html")
