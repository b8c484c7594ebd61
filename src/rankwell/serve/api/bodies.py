"""Bodies of the API: small enough, in time, and JSON, or they are turned away before any route sees them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rankwell.serve.api.problems import JSON, Problem, respond
from rankwell.web.bodies import replay

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

SECONDS = 30.0  # that a body may take to arrive
WITHOUT = ("GET", "HEAD", "OPTIONS", "DELETE")
SMALL = 64 * 1024  # the largest body of a request that needs none


class JsonBodies:
    """Reads the body, so that routes have it at once, and limits it.

    A page of another site can make a browser send simple forms here, but no JSON: that needs our leave, which nobody
    gets (there are no CORS headers).
    """

    def __init__(self, app: ASGIApp, *, largest: int) -> None:
        self.app, self.largest = app, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http" or (scope["method"] in WITHOUT and not _declares_body(scope)):
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(SECONDS):
                body = await self._read(scope, receive)
        except TimeoutError:
            body = Problem(408, "the body came too slowly", f"all of it in {SECONDS:g} s", "less", "body")
        if isinstance(body, bytes) and body and _kind(scope) != JSON:
            body = Problem(415, "the body is of another kind", JSON, _kind(scope) or "none", "content-type")
        if isinstance(body, Problem):
            await respond(body)(scope, receive, send)
        elif body is not None:
            await self.app(scope, replay(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | Problem | None:
        """The whole body; None where the client has left."""
        largest = SMALL if scope["method"] in WITHOUT else self.largest
        declared = _header(scope, b"content-length")
        if declared.isdigit() and int(declared) > largest:
            return _too_large(largest, f"{int(declared):,} bytes")
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > largest:
                return _too_large(largest, "more")
            if not message.get("more_body", False):
                return b"".join(parts)


def _too_large(largest: int, found: str) -> Problem:
    # What is left of the body is not read: the connection ends with the answer.
    return Problem(
        413, "the body is too large", f"at most {largest:,} bytes", found, "body", headers={"connection": "close"}
    )


def _declares_body(scope: Scope) -> bool:
    return _header(scope, b"content-length") not in ("", "0") or _header(scope, b"transfer-encoding") != ""


def _kind(scope: Scope) -> str:
    return _header(scope, b"content-type").partition(";")[0].strip().lower()


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")
