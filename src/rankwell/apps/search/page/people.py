"""Who is there: people sign in with a key. Only they, or anonymous visitors if the owner wants it, give thumbs."""

from __future__ import annotations

import hashlib
import logging
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from starlette.responses import RedirectResponse, Response

from rankwell.apps.search.access import ADMIN, JUDGE, WRONG_TRIES, Key, Keys
from rankwell.apps.search.page.site import SEARCH, site_of
from rankwell.apps.search.page.views import given_of, read_view
from rankwell.apps.web import Pages, RateLimit, Session
from rankwell.apps.web.application import ElsewhereError
from rankwell.core import RankwellError

logger = logging.getLogger("rankwell.web.serve")
router = APIRouter(include_in_schema=False)
ANONYMOUS = "anonymous:"  # no key can be called that
MINUTE = 60
LATER = {"retry-after": "60"}


class People:
    """Who sends a request: the owner of a key in its header or of the session's key, or an anonymous visitor.

    Keys are looked up at every request: a removed key, or one whose sessions were ended, is nobody's at once.
    """

    def __init__(self, pages: Pages, keys: Keys | None, anonymous_thumbs: int) -> None:
        self.pages, self.keys = pages, keys
        self._thumbs = RateLimit(anonymous_thumbs, MINUTE) if anonymous_thumbs else None
        self._tries = RateLimit(WRONG_TRIES, MINUTE)

    def session_key(self, request: Request) -> Key | None:
        """The key that the person of this session signed in with."""
        session = self.pages.session(request)
        if session.person is None or self.keys is None:
            return None
        try:
            key = self.keys.named(session.person)
        except RankwellError as error:
            logger.error("%s", error)  # noqa: TRY400 -- an operator's mistake, not a bug
            return None
        return key if key is not None and key.session == session.generation else None

    def key(self, request: Request) -> Key | None:
        """The key in the header, or that of the session."""
        sent: Key | None = request.scope.get("state", {}).get("key")
        return sent or self.session_key(request)

    def judge(self, request: Request) -> str | None:
        """The name under which the visitor's thumbs are kept; None where they may give none."""
        key = self.key(request)
        if key is not None and key.may(JUDGE):
            return key.name
        if self._thumbs is None:
            return None
        return ANONYMOUS + hashlib.sha256(self.pages.session(request).nonce.encode()).hexdigest()[:12]

    def count_thumb(self, request: Request, judge: str) -> None:
        """Count a thumb of an anonymous visitor; status 429 where there were too many from this address."""
        if judge.startswith(ANONYMOUS) and self._thumbs is not None and not self._thumbs.allows(place_of(request)):
            raise HTTPException(429, headers=LATER)

    def sign_in(self, request: Request, secret: str) -> Key | None:
        """Begin a session of the key's owner; None for a wrong key, status 429 after too many."""
        key = None if self.keys is None else self.keys.find(secret)
        if key is None:
            if not self._tries.allows(place_of(request)):
                raise HTTPException(429, headers=LATER)
            return None
        request.state.session = Session.begin(key.name, key.session)
        return key

    def sign_out(self, request: Request) -> None:
        """End the session: a copy of its cookie is refused from now on."""
        session = self.pages.session(request)
        if session.person is not None:
            self.pages.sessions.ended.add(session)
            request.state.session = Session.begin()


def place_of(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client else "unknown"


def check_administrator(request: Request) -> None:
    """Status 403 for others than administrators, for nobody the sign-in page: judgments show what people searched."""
    key = site_of(request).people.key(request)
    if key is None:
        raise ElsewhereError("/sign-in")
    if not key.may(ADMIN):
        raise HTTPException(403)


@router.get("/sign-in")
async def sign_in_page(request: Request, back: str = "") -> Response:
    """The sign-in page."""
    site = site_of(request)
    return site.show(request, "sign_in.html", {"back": back[:20_000], "problem": ""})


@router.post("/sign-in")
async def sign_in(
    request: Request,
    key: Annotated[str, Form(max_length=200)],
    back: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:
    """Sign in with a key."""
    site = site_of(request)
    try:
        known = site.people.sign_in(request, key.strip())
    except RankwellError as error:
        logger.error("%s", error)  # noqa: TRY400 -- an operator's mistake, not a bug
        return site.pages.error(request, 503, words="The keys cannot be read. Tell the person who runs this server.")
    if known is None:
        problem = "This key is not valid, or not valid any more."
        return site.show(request, "sign_in.html", {"back": back, "problem": problem}, status=403)
    try:
        pairs = read_view(given_of(back), site.usual).pairs(site.usual)
    except RankwellError:
        pairs = []
    return site.pages.keep(request, RedirectResponse(site.link(SEARCH, pairs), 303))


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End this browser's session."""
    site = site_of(request)
    site.people.sign_out(request)
    return site.pages.keep(request, RedirectResponse(site.link(SEARCH, []), 303))
