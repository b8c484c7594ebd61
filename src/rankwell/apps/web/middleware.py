"""What every request and response passes: size limits, form tokens, error pages without detail, security headers."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
import traceback
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rankwell.apps.web.sessions import Sessions

logger = logging.getLogger(__name__)
DEEPEST = 12  # stack frames in the log
access = logging.getLogger("rankwell.web.access")
ErrorPage = Callable[[Request, int, str], Response]


class Faults:
    """Turns an exception into a page with status 500, and logs one line per request.

    A line has method, route (`/judge/{query}`), status and time: no address, no query string, no token, no person.
    An exception's message may quote user input, so only its type and the places in our code are logged.
    """

    def __init__(self, app: ASGIApp, *, page: ErrorPage) -> None:
        self.app, self.page = app, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, log it, and answer with an error page after an exception."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        begun = time.perf_counter()
        try:
            await self.app(scope, receive, watch)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the visitor gets a page
            reference = _told(error)
            if not status:
                await self._answer(scope, receive, watch, reference)
        finally:
            route = getattr(scope.get("route"), "path", "-")
            access.info("%s %s %d %.1f ms", scope["method"], route, status, 1000 * (time.perf_counter() - begun))

    async def _answer(self, scope: Scope, receive: Receive, send: Send, reference: str) -> None:
        response: Response
        try:
            response = self.page(Request(scope, receive), 500, reference)
        except Exception as error:  # noqa: BLE001 -- the page itself may be what is broken
            _told(error)
            response = PlainTextResponse("Something went wrong here.", 500)
        await response(scope, receive, send)


def _told(error: BaseException) -> str:
    """Log the place of an error. Returns the reference shown to the visitor."""
    reference = secrets.token_hex(4)
    frames = traceback.extract_tb(error.__traceback__, limit=-DEEPEST)
    places = "\n".join(f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)
    logger.error("fault %s: %s\n%s", reference, type(error).__name__, places)
    return reference


# No resources or form targets on other sites, no inline scripts, no framing.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "same-origin",  # keeps sign-in links private
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
}
UNLESS_SAID = {"cache-control": "no-store"}  # pages are personal; static files set their own
SECONDS_OF_A_YEAR = 365 * 24 * 3600


class SecurityHeaders:
    """Adds the security headers to all responses, as the outermost middleware."""

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self.app = app
        headers = {**HEADERS, **({"strict-transport-security": f"max-age={SECONDS_OF_A_YEAR}"} if secure else {})}
        self._always = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._unless_said = [(name.encode(), value.encode()) for name, value in UNLESS_SAID.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers to the response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in self._always}
                given = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
                names = {name.lower() for name, _ in given}
                added = [pair for pair in self._unless_said if pair[0] not in names]
                message["headers"] = [*given, *self._always, *added]
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


SAFE = ("GET", "HEAD", "OPTIONS")
FORM = "application/x-www-form-urlencoded"
FILES = "multipart/form-data"
TOKEN_FIELD = "csrf"  # noqa: S105 -- a field's name
LARGEST_BODY = 128 * 1024
BODY_SECONDS, UPLOAD_SECONDS = 30.0, 280.0  # for a body to arrive; connections have a longer limit
UNREAD = (408, 413)
MOST_FIELDS = 1000
MOST_FILES = 20


class Bodies:
    """Limits the size of bodies and the time they take, and refuses forms without the session's token (CSRF).

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
        seconds: float = BODY_SECONDS,
        uploads: Mapping[str, int] | None = None,
    ) -> None:
        self.app, self.sessions, self.page, self.largest, self.seconds = app, sessions, page, largest, seconds
        self.uploads = dict(uploads or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with an error page."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        body: bytes | None = None
        try:
            async with asyncio.timeout(self.seconds if request.url.path not in self.uploads else UPLOAD_SECONDS):
                body = await self._read(request)
        except TimeoutError:
            status = 408
        except ClientDisconnect:  # nobody is there to be answered
            return
        else:
            status = 413 if body is None else await self._refused(request, body)
        if status or body is None:
            response = self.page(request, status, "")
            if status in UNREAD:  # the rest of the body is not read
                response.headers["connection"] = "close"
            await response(scope, receive, send)
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
    again = Request(request.scope, replay(body, request.receive))
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
