"""Sign in by a mailed link, an invitation, or a return code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple, NoReturn, Protocol
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Form, HTTPException, Query, Request
from starlette.responses import RedirectResponse, Response

from rankwell.apps.web.mail import Mail, Postbox, normalised_address
from rankwell.apps.web.pages import Pages
from rankwell.apps.web.requests import RateLimit
from rankwell.apps.web.sessions import Session


class NotValidError(Exception):
    """An invalid code or link: wrong, used up, withdrawn or expired. The visitor does not learn which."""


class TooManyTriesError(Exception):
    """Too many attempts from one place or for one address."""


class Entry(NamedTuple):
    """A successful sign-in: the name for the session, its generation, and perhaps a return code."""

    person: str
    generation: int = 0
    return_code: str | None = None


class Doorkeeper(Protocol):
    """Signs people in to an application. `place` is the request's IP address, for counting attempts.

    Every method may raise `TooManyTriesError`; those that let people in raise `NotValidError`.
    """

    def token(self, address: str, place: str, code: str | None) -> str | None:
        """The token to mail to an address, or None where nothing is mailed. The page says the same for both."""

    def by_link(self, token: str, place: str) -> Entry:
        """Sign in with a mailed token, which is valid once."""

    def by_code(self, code: str, place: str) -> Entry:
        """Sign in with an invitation code or a return code."""


TRIES_PER_MINUTE = 120  # from one place, which may be a classroom; the doorkeeper has stricter limits for wrong ones
LETTER = """\
Hello,

this link signs you in to "{title}". It works once, for half an hour:

{link}

If you did not ask for it, somebody may have mistyped their address: just ignore this mail.
"""
Code = Annotated[str, Form(max_length=100)]


@dataclass(frozen=True)
class Door:
    """The sign-in settings of one application."""

    title: str
    pages: Pages
    keeper: Doorkeeper
    base_url: str
    tries: RateLimit
    postbox: Postbox | None = None

    def link(self, token: str) -> str:
        """The URL of a sign-in link."""
        return f"{self.base_url}/sign-in/link?token={quote(token)}"

    def invitation(self, code: str) -> str:
        """The URL of an invitation."""
        return f"{self.base_url}/join?code={quote(code)}"


router = APIRouter(default_response_class=Response)


def add_sign_in(app: FastAPI, door: Door) -> None:
    """Add the pages for signing in and out."""
    app.state.door = door
    app.include_router(router)


def _door(request: Request) -> Door:
    found: Door = request.app.state.door
    return found


@router.get("/sign-in")
def sign_in(request: Request) -> Response:
    """The sign-in page."""
    return _ways(request)


@router.get("/join")
def join(request: Request, code: Annotated[str, Query(max_length=100)] = "") -> Response:
    """The page of an invitation link. Its code is checked on use, so that nobody can try codes here."""
    return _ways(request, code=code)


@router.post("/sign-in/mail")
def send_link(request: Request, email: Annotated[str, Form(max_length=1000)], code: Code = "") -> Response:
    """Mail a link, if the address is known or the code is valid."""
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
    """The page after a request for a link, the same for everyone."""
    door = _door(request)
    return door.pages.show(request, "sent.html", title=door.title)


@router.get("/sign-in/link")
def link(request: Request, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The page of a mailed link, with a button."""
    door = _door(request)
    return door.pages.show(request, "link.html", title=door.title, token=token)


@router.post("/sign-in/link")
def use_link(request: Request, token: Annotated[str, Form(max_length=200)]) -> Response:
    """Sign in with a mailed link."""
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
    """Sign in with a code."""
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
    """Start a new session; a return code is shown only here."""
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
