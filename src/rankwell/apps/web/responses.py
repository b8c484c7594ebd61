"""Error pages without detail, security headers on every response, and pages without their layout."""

from __future__ import annotations

import logging
import secrets
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


logger = logging.getLogger(__name__)
DEEPEST = 12  # stack frames in the log
access = logging.getLogger("rankwell.web.access")
ErrorPage = Callable[["Request", int, str], "Response"]


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
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse

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


HEADER = "x-rankwell-fragment"


def wants_fragment(request: Request) -> bool:
    """Whether our script requests only the main part of a page."""
    return HEADER in request.headers


def layout_for(request: Request) -> str:
    """The template that a page extends (`{% extends layout %}`)."""
    return "fragment.html" if wants_fragment(request) else "layout.html"
