"""What went wrong stays here: the visitor gets a page without detail, the log a place without anyone's data."""

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
DEEPEST = 12  # places to name
access = logging.getLogger("rankwell.web.access")
ErrorPage = Callable[["Request", int, str], "Response"]


class Faults:
    """Turns an exception into a page with status 500, and writes one line per request.

    A line has method, route (`/judge/{query}`), status and time: no address, no query string, no token, no person.
    An exception's own words may quote what somebody typed, so that only its type and the places in our code are told.
    """

    def __init__(self, app: ASGIApp, *, page: ErrorPage) -> None:
        self.app, self.page = app, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; log it; answer it ourselves where nobody did."""
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
    """Log where it happened; the reference by which a visitor's complaint finds the line."""
    reference = secrets.token_hex(4)
    frames = traceback.extract_tb(error.__traceback__, limit=-DEEPEST)
    places = "\n".join(f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)
    logger.error("fault %s: %s\n%s", reference, type(error).__name__, places)
    return reference
