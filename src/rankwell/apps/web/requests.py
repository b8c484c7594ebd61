"""Checks of requests before any route: size, form tokens, rate limits; and pages without their layout."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from rankwell.apps.web.responses import ErrorPage
from rankwell.apps.web.sessions import Sessions

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


SAFE = ("GET", "HEAD", "OPTIONS")
FORM = "application/x-www-form-urlencoded"
FILES = "multipart/form-data"
TOKEN_FIELD = "csrf"  # noqa: S105 -- a field's name
LARGEST_BODY = 128 * 1024
MOST_FIELDS = 1000
MOST_FILES = 20


class Bodies:
    """Limits the size of bodies, and refuses forms without the session's token (CSRF).

    It runs before the routes, so that no page can forget it. `uploads` are the paths that take files, each with the
    largest body it may have.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        sessions: Sessions,
        page: ErrorPage,
        largest: int = LARGEST_BODY,
        uploads: Mapping[str, int] | None = None,
    ) -> None:
        self.app, self.sessions, self.page, self.largest = app, sessions, page, largest
        self.uploads = dict(uploads or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with an error page."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        from starlette.requests import Request

        request = Request(scope, receive)
        body = await self._read(request)
        status = 413 if body is None else await self._refused(request, body)
        if status or body is None:
            await self.page(request, status, "")(scope, receive, send)
            return
        await self.app(scope, replay(body, receive), send)

    async def _read(self, request: Request) -> bytes | None:
        """The whole body, or None where it is too large."""
        largest = self.uploads.get(request.url.path, self.largest)
        declared = request.headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared) > largest:
            return None
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > largest:
                return None
            parts.append(part)
        return b"".join(parts)

    async def _refused(self, request: Request, body: bytes) -> int:
        """The status to refuse a request with; 0 where it is accepted."""
        if request.method in SAFE:
            return 0
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != (FILES if request.url.path in self.uploads else FORM):
            return 415
        token = await _token_beside_files(request, body) if kind == FILES else _token(body)
        if token is None:
            return 400
        session = self.sessions.read(request.cookies.get(self.sessions.cookie))
        return 0 if self.sessions.is_token(session, token) else 403


def _token(body: bytes) -> str | None:
    """The token in a form's body; None without one."""
    try:
        return parse_qs(body.decode("latin-1"), max_num_fields=MOST_FIELDS).get(TOKEN_FIELD, [""])[0]
    except ValueError:
        return None


async def _token_beside_files(request: Request, body: bytes) -> str | None:
    """The token in a form with files; None without one."""
    from starlette.exceptions import HTTPException
    from starlette.formparsers import MultiPartException
    from starlette.requests import Request as Again

    again = Again(request.scope, replay(body, request.receive))
    try:
        async with again.form(max_files=MOST_FILES, max_fields=MOST_FILES) as fields:
            token = fields.get(TOKEN_FIELD)
    except (HTTPException, MultiPartException):
        return None
    return token if isinstance(token, str) else ""


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the read body again, then later messages (such as a disconnect)."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


MOST_KEYS = 50_000  # limits the memory to some megabytes; the oldest are dropped


class RateLimit:
    """At most `count` attempts within `seconds`, per key. Kept in memory: one process serves the pages.

    Keys are hashed, so that no typed address is kept.
    """

    def __init__(self, count: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.count, self.seconds, self._clock = count, seconds, clock
        self._tries: OrderedDict[bytes, deque[float]] = OrderedDict()
        self._lock = Lock()

    def allows(self, key: str) -> bool:
        """Count one attempt; False where there were too many (refused ones do not count)."""
        name = hashlib.blake2b(key.encode(errors="replace"), digest_size=16).digest()
        now = self._clock()
        with self._lock:
            tries = self._tries.setdefault(name, deque())
            self._tries.move_to_end(name)
            while tries and tries[0] <= now - self.seconds:
                tries.popleft()
            if len(tries) >= self.count:
                return False
            tries.append(now)
            while len(self._tries) > MOST_KEYS:
                self._tries.popitem(last=False)
            return True
