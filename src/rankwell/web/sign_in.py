"""Signing in: by a mailed link, by an invitation, by a code for coming back.

A link is good once, and mail programs open links to look at them: looking at a linked page uses nothing up, only its
button does. Whoever asks for a link reads the same answer after the same time, known or not: mails leave afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NoReturn
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Form, HTTPException, Query, Request
from starlette.responses import RedirectResponse, Response

from rankwell.web.addresses import normalised_address
from rankwell.web.mail import Mail, Postbox
from rankwell.web.pages import Pages
from rankwell.web.rate_limit import RateLimit
from rankwell.web.sessions import Session
from rankwell.web.visitors import Doorkeeper, Entry, NotValidError, TooManyTriesError

TRIES_PER_MINUTE = 120  # from one place, which may be a classroom; the doorkeeper counts the wrong ones strictly
LETTER = """\
Hello,

this link signs you in to "{title}". It works once, for half an hour:

{link}

If you did not ask for it, somebody may have mistyped their address: just ignore this mail.
"""
Code = Annotated[str, Form(max_length=100)]


@dataclass(frozen=True)
class Door:
    """The way into one web part."""

    title: str
    pages: Pages
    keeper: Doorkeeper
    base_url: str
    tries: RateLimit
    postbox: Postbox | None = None

    def link(self, token: str) -> str:
        """The address of a sign-in link."""
        return f"{self.base_url}/sign-in/link?token={quote(token)}"

    def invitation(self, code: str) -> str:
        """The address of an invitation."""
        return f"{self.base_url}/join?code={quote(code)}"


router = APIRouter(default_response_class=Response)


def add_sign_in(app: FastAPI, door: Door) -> None:
    """The pages for coming in and going out."""
    app.state.door = door
    app.include_router(router)


def _door(request: Request) -> Door:
    found: Door = request.app.state.door
    return found


@router.get("/sign-in")
def sign_in(request: Request) -> Response:
    """The ways in."""
    return _ways(request)


@router.get("/join")
def join(request: Request, code: Annotated[str, Query(max_length=100)] = "") -> Response:
    """An invitation's link: whether its code is good is told when it is used, lest anyone try codes here."""
    return _ways(request, code=code)


@router.post("/sign-in/mail")
def send_link(request: Request, email: Annotated[str, Form(max_length=1000)], code: Code = "") -> Response:
    """Mail a link, if the address is known or the code good."""
    door = _door(request)
    _count(request, door)
    if door.postbox is None:
        raise HTTPException(404)
    address = normalised_address(email)
    if address is None:
        return _ways(request, code=code, status=422, problem="This is not an e-mail address.", email=email[:254])
    try:
        token = door.keeper.token(address, _place(request), code.strip() or None)
    except TooManyTriesError:
        _too_many()
    if token is not None:
        letter = LETTER.format(title=" ".join(door.title.split()), link=door.link(token))
        door.postbox.post(Mail(address, f"Sign in: {' '.join(door.title.split())[:100]}", letter))
    return RedirectResponse(door.pages.url("/sign-in/sent"), 303)


@router.get("/sign-in/sent")
def sent(request: Request) -> Response:
    """The same for everyone."""
    door = _door(request)
    return door.pages.show(request, "sent.html", title=door.title)


@router.get("/sign-in/link")
def link(request: Request, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """A mailed link: a page with a button."""
    door = _door(request)
    return door.pages.show(request, "link.html", title=door.title, token=token)


@router.post("/sign-in/link")
def use_link(request: Request, token: Annotated[str, Form(max_length=200)]) -> Response:
    """The button on that page."""
    door = _door(request)
    _count(request, door)
    try:
        entry = door.keeper.by_link(token, _place(request))
    except NotValidError:
        raise HTTPException(410) from None
    except TooManyTriesError:
        _too_many()
    return _let_in(request, entry)


@router.post("/sign-in/code")
def use_code(request: Request, code: Code) -> Response:
    """Come in with a code."""
    door = _door(request)
    _count(request, door)
    try:
        entry = door.keeper.by_code(code, _place(request))
    except NotValidError:
        return _ways(request, status=403, problem="This code is not valid, or not valid any more.")
    except TooManyTriesError:
        _too_many()
    return _let_in(request, entry)


@router.post("/sign-out")
def sign_out(request: Request) -> Response:
    """End this browser's session."""
    pages = _door(request).pages
    response = RedirectResponse(pages.url("/"), 303)
    pages.sessions.write(response, Session.begin())
    return response


def _ways(
    request: Request, *, code: str = "", status: int = 200, problem: str | None = None, email: str = ""
) -> Response:
    door = _door(request)
    return door.pages.show(
        request,
        "sign_in.html",
        status,
        title=door.title,
        by_mail=door.postbox is not None,
        code=code,
        problem=problem,
        email=email,
    )


def _let_in(request: Request, entry: Entry) -> Response:
    """Begin a new session; a code for coming back is shown here and nowhere else."""
    pages = _door(request).pages
    session = Session.begin(entry.person, entry.generation)
    request.state.session = session
    if entry.return_code is not None:
        return pages.show(request, "return_code.html", return_code=entry.return_code)
    response = RedirectResponse(pages.url("/"), 303)
    pages.sessions.write(response, session)
    return response


def _place(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def _count(request: Request, door: Door) -> None:
    if not door.tries.allows(_place(request)):
        _too_many()


def _too_many() -> NoReturn:
    raise HTTPException(429, headers={"retry-after": "600"})
